"""Image patches as data: one column per patch, as in the paper's section IV.C."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from riemtr.arguments import integer
from riemtr.errors import ArgumentError, FileContentError, require, unknown_name
from riemtr.files import reading

# Luminance of linear RGB, Rec. ITU-R BT.709 as scikit-image's rgb2gray rounds it.
LUMINANCE = np.array([0.2125, 0.7154, 0.0721])


def load_image(source: str | Path) -> np.ndarray:
    """Load an image as a 2-D array of floats, 0 for black and 1 for white.

    Colour becomes luminance, transparency is laid over white, and the orientation that a camera
    recorded is applied. Integer images are divided by the largest value of their type; images
    that hold floats keep their values.

    Parameters
    ----------
    source : str or pathlib.Path
        One of `bundled_images`, or the path of an image file that Pillow reads. A string that is
        a bundled name means that image; a `Path` is always a file.

    Returns
    -------
    array, shape (height, width), float64

    Examples
    --------
    >>> load_image("camera").shape
    (512, 512)
    """
    pillow = require("PIL.Image", extra="images")
    operations = require("PIL.ImageOps", extra="images")
    path = _locate(source)
    what = "a whole image that Pillow reads, such as PNG or TIFF (8-bit, or 16-bit grayscale)"
    with reading(path, what), pillow.open(path) as image:
        if getattr(image, "n_frames", 1) > 1:
            raise FileContentError(
                f"source must hold one image; {str(path)!r} holds {image.n_frames} frames; "
                f"save the frame you want to a file of its own"
            )
        return _gray(operations.exif_transpose(image))


def bundled_images() -> tuple[str, ...]:
    """Return the names of the images that come with scikit-image's wheel: no download needed.

    Examples
    --------
    >>> {"camera", "brick", "grass", "moon"} <= set(bundled_images())
    True
    """
    return tuple(sorted(_bundled_files()))


def patches(image: np.ndarray, size: int = 8) -> np.ndarray:
    """Cut an image into non-overlapping square patches and stack them as columns.

    Patches run along the rows of the image, pixels along the rows of the patch. Where the sides
    are not multiples of ``size``, the rows at the bottom and the columns at the right that do not
    fill a patch are cropped.

    Parameters
    ----------
    image : array, shape (height, width)
    size : int
        Side of a patch; 8 as in the paper (section IV.C).

    Returns
    -------
    array, shape (size * size, (height // size) * (width // size))
        Floats: float32 for a float32 image, float64 for others.

    Examples
    --------
    >>> patches(np.arange(12).reshape(3, 4), size=2)
    array([[0., 2.], [1., 3.], [4., 6.], [5., 7.]])
    """
    image = np.asarray(image)
    if image.ndim != 2 or image.dtype.kind not in "fiub":
        raise ValueError(
            f"image must be a real 2-D array (height x width); got {image.dtype} of shape "
            f"{image.shape}; load_image turns colour into grayscale"
        )
    size = integer("size", size, low=1)
    if size > min(image.shape):
        raise ArgumentError("size", f"be at most the image's sides {image.shape}", size)
    down, across = image.shape[0] // size, image.shape[1] // size
    cropped = image[: down * size, : across * size]
    blocks = cropped.reshape(down, size, across, size).transpose(1, 3, 0, 2)
    dtype = np.float32 if image.dtype == np.float32 else np.float64
    return blocks.reshape(size * size, down * across).astype(dtype, copy=False)


def _locate(source: str | Path) -> Path:
    if not isinstance(source, (str, Path)):
        raise TypeError(
            f"source must be a path or one of bundled_images(); got {type(source).__name__}; "
            f"an array needs no loading: pass it to patches()"
        )
    files = _bundled_files() if isinstance(source, str) else {}
    if source in files:
        return files[str(source)]
    path = Path(source).expanduser()
    if path.is_file():
        return path
    if files and source == path.stem:  # neither folder nor suffix: a mistyped name
        raise unknown_name("source", source, files)
    raise FileNotFoundError(f"source must be an image file; there is none at {str(path)!r}")


def _bundled_files() -> dict[str, Path]:
    # Its own files, not the functions of skimage.data: those may download.
    folder = Path(str(require("skimage.data", extra="images").__file__)).parent
    return {file.stem: file for file in folder.iterdir() if file.suffix in (".png", ".jpg")}


def _gray(image: Any) -> np.ndarray:
    has_alpha = "A" in image.getbands() or "transparency" in image.info
    if has_alpha:
        image = image.convert("RGBA")
    elif image.mode not in ("1", "L", "F", "RGB") and not image.mode.startswith("I"):
        image = image.convert("RGB")
    pixels = np.asarray(image)
    # Pillow's mode "I" holds 16-bit values in 32-bit integers.
    white = 255 if pixels.dtype == np.uint8 else 65535 if pixels.dtype.kind in "iu" else 1
    levels = pixels.astype(np.float64) / white
    if has_alpha:
        alpha = levels[..., 3:]
        levels = alpha * levels[..., :3] + (1 - alpha)
    return levels @ LUMINANCE if levels.ndim == 3 else levels
