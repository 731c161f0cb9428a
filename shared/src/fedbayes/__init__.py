"""The library under the fedbayes algorithm images: privacy-preserving Bayesian and survival models on vantage6."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0"


def load(path: Any) -> Any:
    """Return the result in a JSON file, a `fedbayes.client.result.Result`: the dict, with ``summary()``, ``plot()``, ``to_frame()`` and so on.

    Parameters
    ----------
    path : str or pathlib.Path
        A file that ``fedbayes run`` or `Result.save` wrote, or a server's result.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it holds no result.
    """
    # Looked up here: the mathematics below this package imports neither the federation nor vantage6.
    return import_module("fedbayes.client.result").load(path)


def __getattr__(name: str) -> Any:
    """Return `fedbayes.federation.embedded.EmbeddedFederation`, which runs tasks on this machine; looked up when it is wanted, as in `load`."""
    if name == "EmbeddedFederation":
        return import_module("fedbayes.federation.embedded").EmbeddedFederation
    raise AttributeError(f"module 'fedbayes' has no attribute {name!r}")
