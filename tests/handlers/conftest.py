"""The deployed system for each test, empty."""

from collections.abc import Iterator

import pytest

from tests.support.system import World, opened


@pytest.fixture
def world() -> Iterator[World]:
    """The system with one ledger shard."""
    with opened() as world:
        yield world


@pytest.fixture
def sharded() -> Iterator[World]:
    """The system with three ledger shards."""
    with opened({"LedgerShards": 3}) as world:
        yield world
