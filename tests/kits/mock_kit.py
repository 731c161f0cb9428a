"""A method under vantage6's own mock client: all organizations in this process, central at the first one."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from vantage6.algorithm.tools.mock_client import MockAlgorithmClient

NO_DATA = pd.DataFrame()
"""The table of a helper."""


def mock_client(method: str, tables: Sequence[pd.DataFrame]) -> MockAlgorithmClient:
    """Return a client for organizations 1, 2, ... with these tables."""
    datasets = [[{"database": table, "db_type": "csv"}] for table in tables]
    numbers = list(range(1, len(datasets) + 1))
    client = MockAlgorithmClient(datasets=datasets, organization_ids=numbers, module=f"v6_{method}")
    client.organization_id = 1
    return client


def run_mocked(method: str, function: str, tables: Sequence[pd.DataFrame], **arguments: Any) -> Any:
    """Return what a task gives."""
    client = mock_client(method, tables)
    task = client.task.create(input_={"method": function, "kwargs": arguments}, organizations=[1])
    return client.result.from_task(task["id"])[0]
