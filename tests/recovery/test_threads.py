"""BLAS has one thread for small data, and as many as before for the rest."""

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from riemtr.recovery.threads import blas_threads_for


def most_threads():
    return max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")


@pytest.mark.parametrize(("entries", "expected"), [(1, 1), (10**7 - 1, 1), (10**7, 2)])
def test_threads_are_limited_while_it_lasts(entries, expected):
    with threadpool_limits(2):
        before = most_threads()
        with blas_threads_for(entries):
            assert most_threads() == min(expected, before)
        assert most_threads() == before
