"""Sort numbers and remove repeated ones."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Number = TypeVar("Number", bound=np.integer)


def distinct(numbers: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the sorted distinct values of an array with one dimension.

    `np.unique` loads numpy's masked arrays, a tenth of the time of the first question.
    """
    ordered = np.sort(numbers)
    is_new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_new[1:])
    return ordered[is_new]
