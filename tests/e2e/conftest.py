"""The whole system on each engine: moto in this process, DynamoDB Local beside it where Java and Maven are."""

import pytest

from local.engines import DYNAMODB_LOCAL, MOTO


@pytest.fixture(params=[MOTO, pytest.param(DYNAMODB_LOCAL, marks=pytest.mark.engine(DYNAMODB_LOCAL))])
def engine(request: pytest.FixtureRequest) -> str:
    """The engine of a stack, as ``open_stack`` takes it."""
    url: str = MOTO if request.param == MOTO else request.getfixturevalue("dynamodb_local_url")
    return url
