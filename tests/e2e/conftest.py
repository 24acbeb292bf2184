"""Fixtures of the tests in a browser."""

from collections.abc import Iterator

import pytest

from tests.support.browser import SCREEN, Tab, tab
from tests.support.openid import Issuer, signing_in


@pytest.fixture(scope="module")
def _tab() -> Iterator[Tab]:
    with tab() as opened:
        yield opened


@pytest.fixture
def browser(_tab: Tab) -> Tab:
    """A page of the module's browser, as large as a screen."""
    _tab.resize(*SCREEN)
    return _tab


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    """The issuer of the module, which signs everybody in."""
    with signing_in() as issuer:
        yield issuer
