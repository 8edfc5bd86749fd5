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
    scipy.io.savemat(path, {"session": {"data": Y, "rate": 256.0}})
    assert np.array_equal(read(path).matrix, Y)
    assert np.array_equal(read(path, variable="session.data").matrix, Y)
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


def table_of(path, heading, columns):
    """Write columns of numbers below a heading."""
    lines = [",".join(map(repr, row)) for row in np.column_stack(columns).tolist()]
    path.write_text("\n".join([heading, *lines]))
    return path


def test_names_of_columns_are_kept(tmp_path):
    path = table_of(tmp_path / "table.csv", 'Fz, "Cz" ,Pz', Y[:3])
    assert read(path, transpose=True).names == ("Fz", "Cz", "Pz")
    dropped = read(path, transpose=True, drop="Cz")
    assert dropped.names == ("Fz", "Pz")
    assert np.array_equal(dropped.matrix, Y[[0, 2]])
    assert read(path).names == ()  # then columns are samples
    np.save(tmp_path / "Y.npy", Y)
    assert read(tmp_path / "Y.npy").names == ()


@pytest.mark.parametrize("heading", [",a,b", ",0,1", "Unnamed: 0,a,b", "Index,a,b", "time,a,b"])
def test_an_index_is_asked_about(tmp_path, heading):
    path = table_of(tmp_path / "table.csv", heading, [np.arange(30), *Y[:2]])
    name = heading.split(",")[0] or "column1"
    with pytest.raises(
        ValueError, match=rf"column '{name}' of table.csv \(0.0, 1.0, 2.0, \.\.\.\)"
    ):
        read(path, transpose=True)
    with pytest.raises(ValueError, match=f"drop='{name}' to leave it out, or keep='{name}' if"):
        read(path, transpose=True)
    assert np.array_equal(read(path, transpose=True, drop=[name]).matrix, Y[:2])
    kept = read(path, transpose=True, keep=[name])
    assert np.array_equal(kept.matrix, np.vstack([np.arange(30), Y[:2]]))


@pytest.mark.parametrize(
    "times",
    [
        np.arange(30) / 256,
        np.round(np.arange(30) / 256, 4),
        1.7e9 + np.cumsum(np.random.default_rng(1).random(30)),
        -np.arange(30.0),
    ],
)
def test_a_time_is_asked_about_whatever_it_is_called(tmp_path, times):
    path = table_of(tmp_path / "table.csv", "a,seconds,b", [Y[0], times, Y[1]])
    with pytest.raises(ValueError, match=r"column 'seconds' of table.csv .* looks like a time"):
        read(path, transpose=True)
    assert read(path, transpose=True, drop="seconds").names == ("a", "b")
    np.savetxt(tmp_path / "rows.csv", np.vstack([times, Y]), delimiter=",")
    with pytest.raises(ValueError, match=r"row 'row1' of rows.csv .* drop='row1'"):
        read(tmp_path / "rows.csv")
    assert np.array_equal(read(tmp_path / "rows.csv", drop="row1").matrix, Y)


def test_numbers_for_names_are_asked_about(tmp_path):
    path = table_of(tmp_path / "table.csv", "0,1,2,3", Y)
    with pytest.raises(ValueError, match=r"row 'row1' of table.csv \(0, 1, 2, \.\.\.\)"):
        read(path, transpose=True)
    assert np.array_equal(read(path, transpose=True, drop="row1").matrix, Y)


def test_what_is_data_is_not_asked_about(tmp_path):
    steps = np.repeat([0.0, 1.0, 2.0], 10)  # rises, but not always
    path = table_of(tmp_path / "table.csv", "a,steps,constant", [Y[0], steps, np.ones(30)])
    assert read(path, transpose=True).names == ("a", "steps", "constant")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": "c"}, "drop must name columns of table.csv: 'a', 'b'; got 'c'"),
        ({"keep": "c"}, "keep must name columns of table.csv: 'a', 'b'; got 'c'"),
        ({"drop": "a", "keep": "a"}, "drop must name other columns than keep; got 'a'"),
        ({"drop": ("a", "b")}, "drop must leave something of table.csv; got 'a, b'"),
    ],
)
def test_columns_that_cannot_be_dropped_or_kept(tmp_path, options, message):
    path = table_of(tmp_path / "table.csv", "a,b", Y[:2])
    with pytest.raises(ValueError, match=message):
        read(path, **options)
    np.save(tmp_path / "Y.npy", Y)
    with pytest.raises(ValueError, match=r"be left out: columns of Y\.npy have no names"):
        read(tmp_path / "Y.npy", drop="a")


def test_a_column_of_text_can_be_dropped(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("who,a,b\nAnna,1,2\nBo,3,4\nCy,5,7\n")
    with pytest.raises(ValueError, match="got: 'Anna' in line 2, field 1"):
        read(path)
    assert np.array_equal(read(path, drop="who").matrix, [[1, 2], [3, 4], [5, 7]])
    path.write_text("who,a,b\nAnna,1,2\nBo,3,4,5\n")
    with pytest.raises(ValueError, match="4 fields in line 3, 3 in line 2"):
        read(path, drop="who")


def eeglab(**fields):
    labels = np.array([("Fz",), ("Cz",), ("Pz",), ("Oz",)], dtype=[("labels", object)])
    return {"nbchan": 4, "srate": 256.0, "chanlocs": labels, "icaweights": np.eye(4), **fields}


@pytest.mark.parametrize("suffix", [".mat", ".set"])
@pytest.mark.parametrize("inside", [True, False])
def test_eeglab_gives_its_channels(tmp_path, suffix, inside):
    path = tmp_path / f"recording{suffix}"
    content = eeglab(data=Y.reshape(4, 10, 3, order="F"))  # three epochs
    scipy.io.savemat(path, {"EEG": content} if inside else content, appendmat=False)
    found = read(path)
    assert np.array_equal(found.matrix, Y)
    assert found.names == ("Fz", "Cz", "Pz", "Oz")
    assert np.array_equal(read(path, variable="EEG.icaweights").matrix, np.eye(4))


def test_eeglab_data_in_another_file_are_refused_by_name(tmp_path):
    scipy.io.savemat(tmp_path / "recording.mat", {"EEG": eeglab(data="recording.fdt")})
    with pytest.raises(ValueError, match=r"in another file, 'recording\.fdt'.*pop_loadset"):
        read(tmp_path / "recording.mat")


@pytest.mark.parametrize("name", ["raw.fif", "raw.fif.gz", "night.edf"])
def test_recordings_of_other_formats_are_refused_by_name(name):
    with pytest.raises(ValueError, match=rf"{name} is a recording .*mne\.io\.read_raw"):
        read(name)


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
        (",a,b\nfirst,1,2\nsecond,3,x\n", r"column 'column1' of table.csv \(first, second\)"),
        ("a,b\n1,2,3,4\n", "got 2 in its heading, 4 in line 2"),
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
    with pytest.raises(ValueError, match=r"column 'column1' of r.txt \(1, 2, 3\)"):
        read(path)
    expected = [[1.5, 1.25], [2.5, 2.25], [3.5, 3.25]]
    np.testing.assert_array_equal(read(path, drop="column1").matrix, expected)


@pytest.mark.parametrize("separator", [";", "\t", " "])
@pytest.mark.parametrize("heading", [True, False])
def test_decimal_commas(tmp_path, separator, heading):
    """As a German Excel writes them; names may hold commas."""
    Y = np.random.default_rng(0).standard_normal((20, 3)) * [1.0, 1e-9, 1e6]
    path = tmp_path / "table.csv"
    rows = [separator.join(str(value).replace(".", ",") for value in row) for row in Y]
    names = separator.join(["a,1", "b", "c"])
    path.write_text("\n".join([names, *rows] if heading else rows))
    found = read_data(str(path), transpose=True, decimal=",")
    np.testing.assert_array_equal(found.matrix, Y.T)
    assert found.names == (("a,1", "b", "c") if heading else ())
    if separator != " ":
        with pytest.raises(ValueError, match="say decimal=',' if the comma stands for"):
            read_data(str(path), transpose=True)


def test_decimal_commas_are_for_tables(tmp_path):
    np.save(tmp_path / "Y.npy", np.ones((2, 3)))
    for source in (str(tmp_path / "Y.npy"), "camera"):
        with pytest.raises(ValueError, match="decimal must be left out"):
            read_data(source, decimal=",")
    with pytest.raises(ValueError, match=r"decimal must be '\.' or ','"):
        read_data(str(tmp_path / "Y.npy"), decimal=";")


@pytest.mark.parametrize("gap", ["", "NA", "n/a", "?"])
def test_a_gap_is_refused_with_a_remedy(tmp_path, gap):
    path = tmp_path / "table.csv"
    path.write_text(f"a,b\n1.0,2.0\n3.0,{gap}\n0.0,1.0\n")
    with pytest.raises(ValueError, match=r"in line 3, field 2; fill the gaps, or leave out"):
        read_data(str(path))


def test_hdf5_files_are_refused_in_our_own_words(tmp_path):
    (tmp_path / "x.h5").write_bytes(b"\x89HDF\r\n\x1a\n")
    with pytest.raises(ValueError, match=r"x.h5 is an HDF5 file, which riemtr does not read; in"):
        read_data(str(tmp_path / "x.h5"))
