"""Arrays are checked at the door, and what is under a mask does not come back."""

import numpy as np
import pytest

from attsvm_lib import TokenData
from attsvm_lib.validation import integer_array, real_array


def test_an_array_without_masked_entries_is_taken_as_it_is():
    plain = np.array([1.0, 2.0])
    for value in (plain, np.ma.array(plain), np.ma.array(plain, mask=[False, False])):
        taken = real_array("a", value, (None,))
        assert type(taken) is np.ndarray
        np.testing.assert_array_equal(taken, plain)


def test_masked_entries_are_refused_by_name():
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    with pytest.raises(ValueError, match="a must have no masked entries, got 1 of 4"):
        real_array("a", masked)
    with pytest.raises(ValueError, match="k must have no masked entries, got 1 of 4"):
        integer_array("k", masked, (None, None), 0, 9)
    with pytest.raises(ValueError, match="Y must have no masked entries, got 1 of 2"):
        TokenData(np.ones((2, 1, 1)), np.ones((2, 1)), np.ma.array([1.0, -1.0], mask=[0, 1]))
