import numpy as np
import pytest
import scipy.io
import scipy.sparse
from PIL import Image

from riemtr.data import load_image, patches
from riemtr.recovery.datafiles import read_data

Y = np.random.default_rng(0).standard_normal((4, 30))


def read(path, **options):
    return read_data(str(path), **{"patch_size": None, **options})


def test_npy_gives_the_same_numbers(tmp_path):
    np.save(tmp_path / "Y.npy", Y)
    found = read(tmp_path / "Y.npy")
    assert np.array_equal(found.matrix, Y)
    assert found.patch_size is None
    assert not found.is_image
    assert np.array_equal(read(tmp_path / "Y.npy", transpose=True).matrix, Y.T)


def test_npz_takes_the_only_array_or_y_or_the_one_named(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, whatever=Y)
    assert np.array_equal(read(path).matrix, Y)
    np.savez(path, Y=Y, Z=2 * Y)
    assert np.array_equal(read(path).matrix, Y)
    assert np.array_equal(read(path, variable="Z").matrix, 2 * Y)
    np.savez(path, V=Y, Z=2 * Y)
    with pytest.raises(ValueError, match=r"variable must say which array.*'V', 'Z'"):
        read(path)
    with pytest.raises(ValueError, match="must be one of 'V', 'Z'; got 'Y'"):
        read(path, variable="Y")


def test_sparse_npz(tmp_path):
    sparse = scipy.sparse.csr_matrix(np.where(Y > 1, Y, 0.0))
    scipy.sparse.save_npz(tmp_path / "Y.npz", sparse)
    assert np.array_equal(read(tmp_path / "Y.npz").matrix, sparse.toarray())


def test_mat_leaves_out_what_is_no_matrix(tmp_path):
    path = tmp_path / "data.mat"
    scipy.io.savemat(path, {"data": Y, "n": 4, "name": "text", "row": np.arange(5)})
    assert np.array_equal(read(path).matrix, Y)
    scipy.io.savemat(path, {"Y": scipy.sparse.csc_matrix(Y), "Z": Y})
    assert np.array_equal(read(path).matrix, Y)


def test_matlab_7_3_says_how_to_save_it(tmp_path):
    head = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM"
    (tmp_path / "new.mat").write_bytes(head + b"\x89HDF\r\n\x1a\n" + bytes(500))
    with pytest.raises(ValueError, match="-v7"):
        read(tmp_path / "new.mat")


@pytest.mark.parametrize(
    ("suffix", "separator", "heading"),
    [
        (".csv", ",", ""),
        (".csv", ",", "a,b,c\n"),
        (".csv", ";", "a;b;c\n"),
        (".tsv", "\t", "# a comment\n"),
        (".txt", "  ", ""),
        (".csv", ",", "\ufeffa,b,c\n"),
    ],
)
def test_text_with_and_without_heading(tmp_path, suffix, separator, heading):
    path = tmp_path / f"table{suffix}"
    lines = [separator.join(map(repr, row)) for row in Y.T[:, :3].tolist()]
    path.write_text(heading + "\n".join(lines) + "\n", encoding="utf-8")
    assert np.array_equal(read(path, transpose=True).matrix, Y[:3])


def test_the_index_that_pandas_writes_is_no_data(tmp_path):
    path = tmp_path / "table.csv"
    lines = [f"{number},{a!r},{b!r}" for number, (a, b) in enumerate(Y.T[:, :2].tolist())]
    for heading in (",a,b", ",0,1"):
        path.write_text("\n".join([heading, *lines]))
        assert np.array_equal(read(path, transpose=True).matrix, Y[:2])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is empty"),
        ("a,b\n", "only a heading"),
        ("1,2\n3,x\n", "rows of numbers"),
        ("1,2\n3\n", "rows of numbers"),
        ("1,2\n3,\n", "no gaps"),
        ("1,2\n3,nan\n", "finite"),
        ("1.5,NA,2.5\n3,4,5\n", "no gaps; got: 'NA' in line 1, field 2"),
        ("# made up\n\na,b\n1,2\n3,\n", "got: '' in line 5, field 2"),
        (",a,b\nfirst,1,2\nsecond,3,x\n", "got: 'x' in line 3, field 3"),
        (",1.5,2.5\n3,4,5\n", "no gaps"),
    ],
)
def test_text_that_is_no_table_of_numbers(tmp_path, content, message):
    path = tmp_path / "table.csv"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read(path)


def test_images_become_patches(tmp_path):
    found = read_data("camera", patch_size=None)
    assert np.array_equal(found.matrix, patches(load_image("camera"), 8))
    assert found.patch_size == 8
    assert found.is_image
    pixels = np.random.default_rng(0).integers(0, 255, (20, 33), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "own.png")
    assert np.array_equal(read(tmp_path / "own.png", patch_size=3).matrix, patches(pixels / 255, 3))


def test_a_matrix_may_hold_patches(tmp_path):
    np.save(tmp_path / "Y.npy", Y)
    assert read(tmp_path / "Y.npy", patch_size=2).patch_size == 2
    with pytest.raises(
        ValueError,
        match=r"be the side of the patches, whose square is the 4 features of Y\.npy; got 3",
    ):
        read(tmp_path / "Y.npy", patch_size=3)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("none.npy", {}, "there is no file"),
        ("none.png", {}, "there is no file"),
        ("camra", {}, "there is no file 'camra', and the bundled image must be one of"),
        ("camera", {"transpose": True}, "transpose must be left out for an image"),
        ("camera", {"variable": "Y"}, "variable must be left out for an image"),
        ("camera", {"patch_size": 600}, "at most the image's sides"),
    ],
)
def test_what_cannot_be_read_is_named(name, options, message):
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        read(name, **options)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".mat", ".csv", ".png", ".dat"])
def test_a_file_of_something_else_is_a_value_error(tmp_path, suffix):
    path = tmp_path / f"junk{suffix}"
    path.write_bytes(b"\x00\xffjunk" * 50)
    with pytest.raises(ValueError, match=f"junk{suffix}"):
        read(path)


def test_pickles_are_not_read(tmp_path):
    np.save(tmp_path / "Y.npy", np.array([[{}, 1]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="array of numbers"):
        read(tmp_path / "Y.npy")


def test_messages_do_not_advise_calls_of_numpy(tmp_path):
    text = tmp_path / "text.npy"
    text.write_text("1 2 3")
    with pytest.raises(ValueError, match="another kind of file; text files end in"):
        read(str(text))
    ragged = tmp_path / "ragged.csv"
    ragged.write_text("1,2,3\n4,5\n")
    with pytest.raises(ValueError, match=r"2 fields in line 2, 3 in line 1$"):
        read(str(ragged))


@pytest.mark.parametrize("quote", ["", '"'])
def test_row_names_of_r_are_no_numbers(tmp_path, quote):
    """As write.table writes them, with nothing above them in the heading."""
    path = tmp_path / "r.txt"
    rows = [f"{quote}{i}{quote} {i}.5 {i}.25" for i in range(1, 4)]
    path.write_text("\n".join([f"{quote}a{quote} {quote}b{quote}", *rows]))
    expected = [[1.5, 1.25], [2.5, 2.25], [3.5, 3.25]]
    np.testing.assert_array_equal(read(str(path)).matrix, expected)
