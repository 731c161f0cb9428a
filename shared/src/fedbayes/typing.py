"""Types of numpy arrays by what they hold. Which shape an array has, its function's docstring says."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Booleans = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Counts = Integers
"""Numbers of rows, or other whole numbers that are added up."""
Indices = NDArray[np.intp]
"""Places in other arrays, in numpy's own kind of integers."""
Words = NDArray[np.uint64]
"""Elements of the ring Z/2^64, or parts of those of a wider one."""
