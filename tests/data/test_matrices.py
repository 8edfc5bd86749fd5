import numpy as np
import pytest
import scipy.sparse

from riemtr.data import check_data

Y0 = np.random.default_rng(0).standard_normal((5, 120))


@pytest.mark.parametrize(
    ("Y", "error", "message"),
    [
        (np.ones(5), ValueError, r"Y must be a 2-D array.*got shape \(5,\).*Y\[None, :\]"),
        (3.0, ValueError, r"Y must be a 2-D array.*got shape \(\)"),
        (np.ones((2, 3, 4)), ValueError, "reshape each sample into one column"),
        (np.empty((0, 5)), ValueError, r"at least one row and one column; got shape \(0, 5\)"),
        (np.empty((5, 0)), ValueError, "at least one row and one column"),
        ([[1.0, 2.0], [3.0]], ValueError, "Y must be .* rows of different lengths"),
        ([[1.0, np.nan]], ValueError, "Y must be finite; got nan at row 0, column 1; drop"),
        ([[1.0, 2.0], [-np.inf, 1]], ValueError, "got -inf at row 1, column 0"),
        (scipy.sparse.csr_array([[np.inf, 1.0]]), ValueError, "Y must be finite; got inf"),
        (Y0 * 1j, TypeError, r"Y must be real; got complex128; pass Y\.real"),
        (scipy.sparse.csr_array(Y0 * 1j), TypeError, "Y must be real; got complex128"),
        ([["a", "b"]], TypeError, "Y must hold real numbers; got <U1"),
        (np.array([[None, {}]]), TypeError, "Y must hold real numbers; got Python objects"),
        (np.zeros((2, 2), dtype="M8[s]"), TypeError, "Y must hold real numbers"),
        (np.ma.masked_less(Y0, 0), ValueError, "Y must have no masked entries"),
    ],
)
def test_check_data_refuses_with_the_remedy(Y, error, message):
    with pytest.raises(error, match=message):
        check_data(Y)


def test_check_data_names_the_parameter_it_was_told():
    with pytest.raises(ValueError, match=r"samples must be finite.*samples\[:, np.isfinite"):
        check_data([[np.nan]], name="samples")


def test_check_data_does_not_copy_floats():
    for Y in (Y0, Y0.astype(np.float32), np.asfortranarray(Y0), Y0[::2, ::3]):
        assert np.shares_memory(check_data(Y), Y)


@pytest.mark.parametrize("where", [(0, 0), (4, 119), (2, 60)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_nonfinite_entries_are_located(where, order):
    Y = np.array(Y0, order=order)
    Y[where] = np.nan
    with pytest.raises(ValueError, match=f"row {where[0]}, column {where[1]}"):
        check_data(Y)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("f2", "f4"),
        ("f4", "f4"),
        ("f8", "f8"),
        ("g", "f8"),
        ("i2", "f8"),
        ("?", "f8"),
        (">f4", "f4"),
    ],
)
def test_types_become_native_floats(dtype, expected):
    values = np.array([[1, 0, 1], [0, 1, 1]])
    for Y in (values.astype(dtype), scipy.sparse.csr_array(values).astype(np.float64)):
        checked = check_data(Y)
        assert checked.dtype.isnative
        np.testing.assert_array_equal(checked, values)
    assert check_data(values.astype(dtype)).dtype == np.dtype(expected)


def test_finiteness_is_checked_without_a_temporary_array():
    import tracemalloc

    Y = np.random.default_rng(0).standard_normal((50, 20_000))
    tracemalloc.start()
    try:
        check_data(Y)
        check_data(Y.T)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 0.02 * Y.nbytes


def test_the_largest_finite_numbers_are_finite():
    Y = np.full((3, 4), np.finfo(np.float64).max)
    np.testing.assert_array_equal(check_data(Y), Y)


def test_a_recording_is_refused_with_the_call_that_gives_its_array():
    class RawArray:
        """What MNE's recordings are like: neither an array, nor a list of equal rows."""

        def __len__(self):
            return 2

        def __getitem__(self, item):
            if item >= 2:
                raise IndexError
            return np.zeros((2, item + 1)), np.zeros(3)

        def get_data(self):
            return np.zeros((2, 3))

    with pytest.raises(TypeError, match=r"of type RawArray: for a recording raw, pass"):
        check_data(RawArray())
