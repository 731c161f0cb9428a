"""What every finished image has to be able to do, run in it by scripts/images: `docker run --rm -i --network none --entrypoint python IMAGE - < this file`."""

from __future__ import annotations

import importlib
import os
import pkgutil
import sqlite3
import sys
import sysconfig
import tempfile
from pathlib import Path

LEFT_OUT = ("fedbayes.client", "fedbayes.__main__", "fedbayes.bayes.sklearn")  # need what only researchers install


def imports() -> int:
    """Import every module of the library, of the method and of vantage6's wrapper; return how many."""
    count = 0
    for name in ("fedbayes", os.environ.get("PKG_NAME", "fedbayes"), "vantage6.algorithm.tools"):
        for module in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}."):
            if not module.name.startswith((*LEFT_OUT, "vantage6.algorithm.tools.mock")):
                importlib.import_module(module.name)
                count += 1
    return count


def databases(folder: Path) -> None:
    """Read back what every kind of database brings."""
    import pandas

    frame = pandas.DataFrame({"age": [1, 2, 3], "stage": ["I", "II", None], "size": [0.5, 1.5, None]})
    frame.to_csv(folder / "t.csv", index=False)
    frame.to_excel(folder / "t.xlsx", index=False)
    frame.to_parquet(folder / "t.parquet")
    with sqlite3.connect(folder / "t.sqlite") as connection:
        frame.to_sql("t", connection, index=False)
    uri = f"sqlite:///{folder / 't.sqlite'}"
    from vantage6.algorithm.tools.wrappers import load_csv_data, load_excel_data, load_parquet_data, load_sql_data

    for read in (
        load_csv_data(str(folder / "t.csv")),
        load_excel_data(str(folder / "t.xlsx"), sheet_name=None),
        load_parquet_data(str(folder / "t.parquet")),
        load_sql_data(uri, "select * from t"),
    ):
        pandas.testing.assert_frame_equal(
            read.where(read.notna(), None), frame.where(frame.notna(), None), check_dtype=False
        )
    from sqlalchemy import create_engine

    assert create_engine("postgresql://nobody@localhost/none").dialect.driver == "psycopg2"
    from pyarrow import compute, parquet

    column = parquet.ParquetFile(folder / "t.parquet").read(columns=["stage"]).column(0)
    assert compute.dictionary_encode(column).chunk(0).indices.to_pylist() == [0, 1, None]


def noise() -> None:
    """Draw of each law."""
    import numpy as np

    from fedbayes.dp.mechanisms import discrete_gaussian, discrete_laplace, laplace

    for draw in (discrete_laplace, discrete_gaussian, laplace):
        drawn = draw(np.zeros(50, dtype=np.int64), 5.0)
        assert len(set(drawn.tolist())) > 1, draw.__name__


def mathematics() -> None:
    """Compute with each part of SciPy that the library asks for inside of functions."""
    import numpy as np
    from scipy.interpolate import BSpline
    from scipy.linalg import solve_banded
    from scipy.optimize import minimize
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.special import chdtrc

    assert abs(chdtrc(1, 3.841458820694124) - 0.05) < 1e-9
    assert minimize(lambda x: float((x - 1) @ (x - 1)), [3.0, 4.0], method="L-BFGS-B").success
    assert abs(BSpline(np.arange(6.0), [1.0, 1.0, 1.0], 2)(2.5) - 1.0) < 1e-9
    assert solve_banded((0, 0), [[2.0, 4.0]], [2.0, 4.0]).tolist() == [1.0, 1.0]
    assert connected_components(coo_array(np.eye(3)))[0] == 3
    assert np.linalg.svd(np.eye(3))[1].tolist() == [1.0] * 3


def left() -> list[str]:
    """Return the folders of tests that the image still holds."""
    site = Path(sysconfig.get_path("purelib"))
    return sorted(str(path) for path in site.rglob("tests") if path.is_dir())


def main() -> None:
    import psycopg2  # type: ignore[import-untyped]  # noqa: F401

    mathematics()
    with tempfile.TemporaryDirectory() as folder:
        databases(Path(folder))
    noise()
    modules, tests = imports(), left()
    assert not tests, f"folders of tests: {tests}"
    print(f"{modules} modules import, Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
