"""Settings and fixtures of all tests."""

import atexit
import gc
import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from hypothesis import is_hypothesis_test

from quarterhour_tools.emulator import dynamodb_local
from quarterhour_tools.emulator.engines import DYNAMODB_LOCAL, EMBEDDED
from quarterhour_tools.errors import ToolError
from tests.support import laws

# As in Lambda: Powertools reads it once, at import, whichever test imports it first.
os.environ["POWERTOOLS_METRICS_NAMESPACE"] = "Quarterhour"


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: compressed ones differ from process to process, a test's name must not."""
    return argname if isinstance(val, bytes) else None


INVARIANTS: Final = "invariants"
"""The folder below this one whose tests are all slow."""
SLOW: Final = re.compile(r"^pytestmark = (\[\s*)?(pytest\.mark\.slow|IN_A_BROWSER)\b", re.MULTILINE)
"""What the other modules say whose tests are all slow."""
FIRST: Final = ("e2e", "handlers", "template", "contract")
"""The folders whose modules take longest. They begin first, so that at the end no process waits for another's."""
LONGEST: Final = (
    "invariants/test_statement_runs.py",
    "invariants/test_projections.py",
    "invariants/test_crashes.py",
    "invariants/test_schedule.py",
    "e2e/test_sam_local.py",
)
"""The slow modules that begin before all others, for the same reason."""
QUICK: Final = "not slow"
"""How ``make test`` chooses its tests."""
LONGEST_SECONDS: Final = 1200
"""For a slow test without a ``timeout`` mark; other tests have what pyproject.toml says."""
WITHOUT_JAVA: Final = "QUARTERHOUR_WITHOUT_JAVA"

laws.register()

# The end of a process frees all memory, so Python need not look for garbage first: that takes it seconds.
atexit.register(gc.freeze)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import the modules that ``make test`` leaves out."""
    return True if config.option.markexpr == QUICK and _is_slow(collection_path) else None


def pytest_configure(config: pytest.Config) -> None:
    """Load the plugin that only long tests need."""
    if config.option.markexpr != QUICK:
        config.pluginmanager.import_plugin("schemathesis.pytest.plugin")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests, tests that need more than Python, and laws; put the longest first."""
    items.sort(key=lambda item: _turn(_name(item.path)))
    for item in items:
        if _is_slow(item.path) or "dynamodb-local" in item.nodeid or _needs(item, "dynamodb-local"):
            item.add_marker("slow")
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(LONGEST_SECONDS))
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker("law")


def pytest_collection_finish() -> None:
    """Take what stays to the end out of what Python searches for garbage: the modules, and the tests themselves."""
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """Look for garbage once; pytest itself then looks five times, to find what fails when it is deleted."""
    gc.collect()
    gc.freeze()


@cache
def _is_slow(path: Path) -> bool:
    if path.suffix != ".py":
        return _name(path) == INVARIANTS
    return _name(path).startswith(f"{INVARIANTS}/") or bool(SLOW.search(path.read_text("utf-8")))


@cache
def _name(path: Path) -> str:
    """Return the path of a test below this folder; of the clients' tests, the whole path."""
    here = Path(__file__).parent
    return (path.relative_to(here) if path.is_relative_to(here) else path).as_posix()


def _turn(name: str) -> int:
    """Return when the tests of a module begin: a lower number is earlier."""
    folder = name.partition("/")[0]
    if name in LONGEST:
        return LONGEST.index(name)
    return len(LONGEST) + (FIRST.index(folder) if folder in FIRST else len(FIRST))


def _needs(item: pytest.Item, engine: str) -> bool:
    return any(engine in mark.args for mark in item.iter_markers("engine"))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests have counted, from whichever process they ran in."""
    for report in terminalreporter.getreports("passed"):
        for name, count in report.user_properties:
            terminalreporter.write_line(f"{name}: {count}")


@pytest.fixture(scope="session")
def dynamodb_local_url() -> Iterator[str]:
    """One DynamoDB Local for all tests; each stack has its own tables."""
    with ExitStack() as running:
        try:
            url = running.enter_context(dynamodb_local.running())
        except ToolError as error:
            if os.environ.get("CI") and not os.environ.get(WITHOUT_JAVA):
                pytest.fail(f"{error} (to go without: {WITHOUT_JAVA}=1)", pytrace=False)
            pytest.skip(f"the embedded engine alone was tested: {error}")
        yield url


@pytest.fixture(
    scope="module", params=[EMBEDDED, pytest.param(DYNAMODB_LOCAL, marks=pytest.mark.engine(DYNAMODB_LOCAL))]
)
def engine(request: pytest.FixtureRequest) -> str:
    """The engine of a stack, as ``open_stack`` takes it: the embedded one, and DynamoDB Local where it can run."""
    url: str = EMBEDDED if request.param == EMBEDDED else request.getfixturevalue("dynamodb_local_url")
    return url
