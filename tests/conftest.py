"""What holds for all tests."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pytest

from local import dynamodb_local
from local.errors import LocalError

# As in Lambda: Powertools reads it once, at import, whichever test imports it first.
os.environ["POWERTOOLS_METRICS_NAMESPACE"] = "Quarterhour"


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: compressed ones differ from process to process, a test's name must not."""
    return argname if isinstance(val, bytes) else None


LONG = ("invariants", "e2e/test_rehearsal.py", "e2e/test_replay.py")
"""What takes its time, below this folder."""
WITHOUT_JAVA: Final = "QUARTERHOUR_WITHOUT_JAVA"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what takes long, or needs more than Python."""
    for item in items:
        place = item.path.relative_to(Path(__file__).parent).as_posix()
        if place.startswith(LONG) or "dynamodb-local" in item.nodeid or _needs(item, "dynamodb-local"):
            item.add_marker("slow")


def _needs(item: pytest.Item, engine: str) -> bool:
    return any(engine in mark.args for mark in item.iter_markers("engine"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have counted, from whichever process they ran in."""
    for report in terminalreporter.getreports("passed"):
        for name, told in report.user_properties:
            terminalreporter.write_line(f"{name}: {told}")


@pytest.fixture(scope="session")
def dynamodb_local_url() -> Iterator[str]:
    """One DynamoDB Local for all tests; each stack has tables of its own."""
    with ExitStack() as running:
        try:
            url = running.enter_context(dynamodb_local.running())
        except LocalError as error:
            if os.environ.get("CI") and not os.environ.get(WITHOUT_JAVA):
                pytest.fail(f"{error} (to go without: {WITHOUT_JAVA}=1)", pytrace=False)
            pytest.skip(f"moto alone was tested: {error}")
        yield url
