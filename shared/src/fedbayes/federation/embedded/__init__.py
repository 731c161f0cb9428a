"""A federation on one machine, without Docker: one process a container, vantage6's own client and wrapper, JSON both ways."""

from .federation import EmbeddedFederation
from .remedies import RunFailed

__all__ = ["EmbeddedFederation", "RunFailed"]
