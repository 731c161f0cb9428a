"""For bases that make frozen dataclasses of their subclasses: what tells type checkers so, on every Python."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Any:
        """Return a decorator that changes nothing; `typing` has one from Python 3.11 on."""
        return lambda base: base


__all__ = ["dataclass_transform"]
