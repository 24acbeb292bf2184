"""Unit tests touch no network: whoever opens a socket fails."""

from pathlib import Path

import pytest
from hypothesis import settings

# A busy machine must not fail a law that holds.
settings.register_profile("unit", deadline=None)
settings.load_profile("unit")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker("disable_socket")
