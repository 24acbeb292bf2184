"""The meter agrees with DynamoDB Local on what single and batch operations cost."""

import pytest

from benchmarks.crosscheck import crosscheck
from quarterhour_tools.errors import ToolError


@pytest.mark.slow
@pytest.mark.engine("dynamodb-local")
@pytest.mark.usefixtures("socket_enabled")
def test_dynamodb_local_counts_the_same_units() -> None:
    try:
        differences = crosscheck(200)
    except ToolError as error:
        pytest.skip(str(error))
    assert differences == []
