"""Fixtures of the tests in a browser, and of those with Trino."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from quarterhour_tools.errors import ToolError
from tests.support.browser import SCREEN, Tab, tab
from tests.support.openid import Issuer, signing_in
from tests.support.trino import Trino, running


@pytest.fixture(scope="module")
def _tab() -> Iterator[Tab]:
    with tab() as opened:
        yield opened


@pytest.fixture
def browser(_tab: Tab) -> Tab:
    """A page of the module's browser, as large as a screen; whatever the test before had open asks for nothing more."""
    _tab.open("about:blank")
    _tab.resize(*SCREEN)
    return _tab


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    """The issuer of the module, which signs everybody in."""
    with signing_in() as issuer:
        yield issuer


@pytest.fixture(scope="session")
def trino(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trino]:
    """A running Trino; tests that use it are slow, and each uses another schema."""
    with ExitStack() as stack:
        try:
            running_ = stack.enter_context(running(tmp_path_factory.mktemp("trino")))
        except ToolError as error:
            pytest.skip(f"there is no Trino here: {error}")
        yield running_
