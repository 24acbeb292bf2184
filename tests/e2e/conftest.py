"""The whole system on each engine: moto in this process, DynamoDB Local beside it where Java and Maven are."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Final

import pytest

from local import dynamodb_local
from local.engines import DYNAMODB_LOCAL, MOTO
from local.errors import LocalError

WITHOUT_JAVA: Final = "QUARTERHOUR_WITHOUT_JAVA"


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


@pytest.fixture(params=[MOTO, pytest.param(DYNAMODB_LOCAL, marks=pytest.mark.engine(DYNAMODB_LOCAL))])
def engine(request: pytest.FixtureRequest) -> str:
    """The engine of a stack, as ``open_stack`` takes it."""
    url: str = MOTO if request.param == MOTO else request.getfixturevalue("dynamodb_local_url")
    return url
