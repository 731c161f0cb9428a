"""Arrays in files: what is read is what was written, and nothing else is read."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from fedbayes.federation.errors import StationError
from fedbayes.federation.node.kept_arrays import read_arrays, write_arrays

DTYPES = st.sampled_from(["<i8", "<u8", "<f8", "|u1", "|b1", "<U3", "|S4", "<M8[s]"])
SHAPES = array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("kept") / "arrays"


@given(st.dictionaries(st.text(max_size=3), DTYPES.flatmap(lambda kind: arrays(kind, SHAPES)), max_size=3))
def test_names_types_shapes_and_values_come_back(file: Path, kept: dict[str, np.ndarray]) -> None:
    with file.open("wb") as opened:
        write_arrays(opened, kept)
    found = read_arrays(file)
    assert list(found) == list(kept)
    for name, array in kept.items():
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)
        assert found[name].tobytes() == array.tobytes()
        assert found[name].flags.writeable


def test_order_in_memory_is_no_part_of_what_is_kept(file: Path) -> None:
    table = np.arange(12.0).reshape(3, 4)
    with file.open("wb") as opened:
        write_arrays(opened, {"turned": table.T, "every other": table[:, ::2]})
    found = read_arrays(file)
    np.testing.assert_array_equal(found["turned"], table.T)
    np.testing.assert_array_equal(found["every other"], table[:, ::2])


def test_objects_are_not_written(file: Path) -> None:
    with file.open("wb") as opened, pytest.raises(TypeError):
        write_arrays(opened, {"x": np.array([{}], dtype=object)})


def test_a_file_that_ends_early_is_refused(file: Path) -> None:
    with file.open("wb") as opened:
        write_arrays(opened, {"x": np.arange(5)})
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(StationError, match="cut off"):
        read_arrays(file)
