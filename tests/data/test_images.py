from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riemtr.data import bundled_images, load_image, patches

Image = pytest.importorskip("PIL.Image")
skimage_data = pytest.importorskip("skimage.data")

GRAY = (np.arange(40 * 48).reshape(40, 48) % 256).astype(np.uint8)
COLOUR = np.stack([GRAY, GRAY[::-1], GRAY // 2], axis=-1)
LUMINANCE = COLOUR @ [0.2125, 0.7154, 0.0721] / 255


def save(path: Path, pixels: np.ndarray, mode: str | None = None) -> Path:
    image = Image.fromarray(pixels)
    (image if mode is None else image.convert(mode)).save(path)
    return path


def test_bundled_camera_is_scikit_images_own():
    np.testing.assert_allclose(load_image("camera"), skimage_data.camera() / 255, atol=1e-15)


@pytest.mark.parametrize("name", bundled_images())
def test_every_bundled_image_loads_without_a_network(name, monkeypatch):
    import socket

    def refuse(*_args, **_kwargs):
        raise AssertionError("tried to reach the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    image = load_image(name)
    assert image.ndim == 2
    assert image.dtype == np.float64
    assert 0 <= image.min() < image.max() <= 1 + 1e-12


def test_bundled_images_include_the_square_ones_of_the_experiment():
    square = [name for name in bundled_images() if load_image(name).shape == (512, 512)]
    assert {"camera", "brick", "grass", "gravel", "moon"} <= set(square)


@pytest.mark.parametrize(
    ("name", "mode", "tolerance"),
    [
        ("a.png", None, 1e-12),
        ("a.bmp", None, 1e-12),
        ("a.tif", None, 1e-12),
        ("cmyk.tif", "CMYK", 1e-12),
        ("a.jpg", None, 0.1),
    ],
)
def test_colour_becomes_luminance(tmp_path, name, mode, tolerance):
    image = load_image(save(tmp_path / name, COLOUR, mode))
    np.testing.assert_allclose(image, LUMINANCE, atol=tolerance)


@pytest.mark.parametrize("name", ["a.png", "a.tif", "a.pgm", "a.gif"])
def test_grayscale_keeps_its_levels(tmp_path, name):
    np.testing.assert_allclose(load_image(save(tmp_path / name, GRAY)), GRAY / 255, atol=1e-12)


def test_sixteen_bits_one_bit_and_floats(tmp_path):
    deep = GRAY.astype(np.uint16) * 257
    np.testing.assert_allclose(load_image(save(tmp_path / "deep.png", deep)), GRAY / 255)
    bits = save(tmp_path / "bits.png", (GRAY > 99).astype(np.uint8) * 255, "1")
    np.testing.assert_array_equal(load_image(bits), GRAY > 99)
    floats = GRAY.astype(np.float32) * 3
    np.testing.assert_array_equal(load_image(save(tmp_path / "floats.tif", floats)), floats)


def test_transparency_is_laid_over_white(tmp_path):
    alpha = np.full_like(GRAY, 51)  # a fifth
    path = save(tmp_path / "a.png", np.dstack([COLOUR, alpha]))
    np.testing.assert_allclose(load_image(path), 0.2 * LUMINANCE + 0.8, atol=1e-12)
    path = save(tmp_path / "b.png", np.dstack([GRAY, alpha]))
    np.testing.assert_allclose(load_image(path), 0.2 * GRAY / 255 + 0.8, atol=1e-12)


def test_orientation_of_the_camera_is_applied(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # the stored picture is to be turned by 90 degrees, clockwise
    Image.fromarray(GRAY).save(tmp_path / "turned.png", exif=exif)
    np.testing.assert_allclose(load_image(tmp_path / "turned.png"), np.rot90(GRAY, -1) / 255)


def test_a_string_path_loads(tmp_path):
    path = save(tmp_path / "a.png", GRAY)
    np.testing.assert_array_equal(load_image(str(path)), load_image(path))


def test_errors_name_the_remedy(tmp_path):
    with pytest.raises(ValueError, match=r"source must be one of .*'camera'.*; got 'camra'"):
        load_image("camra")
    with pytest.raises(FileNotFoundError, match="source must be an image file; there is none at"):
        load_image(tmp_path / "none.png")
    with pytest.raises(TypeError, match=r"source must be a path .*pass it to patches"):
        load_image(GRAY)
    (tmp_path / "text.png").write_text("not an image")
    with pytest.raises(ValueError, match=r"must be a whole image .* PNG or TIFF"):
        load_image(tmp_path / "text.png")
    frames = [Image.fromarray(GRAY), Image.fromarray(GRAY.T.copy()).resize((48, 40))]
    frames[0].save(tmp_path / "two.tif", save_all=True, append_images=frames[1:])
    with pytest.raises(ValueError, match="holds 2 frames"):
        load_image(tmp_path / "two.tif")


@given(height=st.integers(1, 40), width=st.integers(1, 40), data=st.data())
def test_patches_are_the_blocks_of_the_image(height, width, data):
    size = data.draw(st.integers(1, min(height, width)))
    image = np.random.default_rng(0).random((height, width))
    columns = patches(image, size)
    blocks = [
        image[i * size : (i + 1) * size, j * size : (j + 1) * size].ravel()
        for i in range(height // size)
        for j in range(width // size)
    ]
    np.testing.assert_array_equal(columns, np.transpose(blocks))


def test_patches_of_camera_match_the_papers_sizes():
    assert patches(load_image("camera")).shape == (64, 4096)


def test_patches_keep_float32_and_convert_integers():
    assert patches(np.ones((8, 8), dtype=np.float32)).dtype == np.float32
    assert patches(GRAY).dtype == np.float64


@pytest.mark.parametrize(
    ("image", "size", "message"),
    [
        (COLOUR, 8, r"image must be a real 2-D array .*shape \(40, 48, 3\); load_image"),
        (GRAY * 1j, 8, "image must be a real 2-D array"),
        (GRAY, 41, r"size must be at most the image's sides \(40, 48\); got 41"),
        (GRAY, 0, "size must be an integer of at least 1; got 0"),
    ],
)
def test_patches_errors(image, size, message):
    with pytest.raises(ValueError, match=message):
        patches(image, size)
