"""The deployed system for each test, empty, and tests that work on a copy of what a module has built."""

from collections.abc import Iterator

import pytest

from quarterhour.model.clock import using
from tests.support.copies import OnACopy, run_on_a_copy
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


@pytest.fixture
def on_a_copy() -> OnACopy:
    """Return what sets the clock of a module's system for a test that may change the system, as it works on a copy."""
    return lambda world: using(world.clock)


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run the tests that change what others use on a copy."""
    if "on_a_copy" not in pyfuncitem.fixturenames:
        return None
    run_on_a_copy(pyfuncitem)
    return True
