"""The whole system on each engine: moto in this process, DynamoDB Local beside it where Java and Maven are."""

import os
from collections.abc import Iterator

import pytest

from local import dynamodb_local
from local.engines import DYNAMODB_LOCAL, MOTO
from local.errors import LocalError


@pytest.fixture(scope="session")
def dynamodb_local_url() -> Iterator[str]:
    """One DynamoDB Local for all tests; each stack has tables of its own."""
    try:
        running = dynamodb_local.running()
        url = running.__enter__()
    except LocalError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    yield url
    running.__exit__(None, None, None)


@pytest.fixture(params=[MOTO, pytest.param(DYNAMODB_LOCAL, marks=pytest.mark.engine(DYNAMODB_LOCAL))])
def engine(request: pytest.FixtureRequest) -> str:
    """The engine of a stack, as ``open_stack`` takes it."""
    url: str = MOTO if request.param == MOTO else request.getfixturevalue("dynamodb_local_url")
    return url
