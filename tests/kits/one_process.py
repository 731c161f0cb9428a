"""An embedded federation without processes, for tests of what answers are; how containers live is `EmbeddedFederation`'s to show."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

from harness.inprocess import InProcess

from fedbayes.federation.embedded.federation import EmbeddedFederation, module_name
from fedbayes.federation.embedded.given import task_of


class OneProcess(EmbeddedFederation):
    """The same parties, limits and answers; every container is a call in this process, as in the differential tests.

    A run costs a fifth of what forked containers cost. Decorators, codec, seals and readers are the real ones; the HTTP server, vantage6's wrapper and
    processes are not there, so tests of keys that last, lost replies, transcripts or progress take `EmbeddedFederation`. Exact answers are remembered where a
    party has a ledger and the policy ``allow_differences`` is False; without it they are not.
    """

    def run(
        self, algorithm: str, function: str, arguments: Mapping[str, Any] | None = None, organization: str | None = None
    ) -> Any:
        """Run a central function and return its `Result`; what it raises is raised."""
        asked = task_of(algorithm, function, arguments)
        with InProcess(
            module_name(algorithm), dict.fromkeys(self._ids), {}, organization or self._aggregator
        ) as inside:
            for name, number in self._ids.items():
                limits, tables = self._limits[name], self._tables.get(name)
                if tables is not None:
                    for label, path in tables.paths.items():
                        inside.hand_over(number, path, tables.type_of(label), label)
                    limits = {**limits, **tables.dialect(self._database)}
                inside.limit(number, limits)
            found = inside.run(function, asked)
        return importlib.import_module("fedbayes.client.result").Result(found) if isinstance(found, dict) else found
