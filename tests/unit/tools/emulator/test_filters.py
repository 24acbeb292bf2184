"""Which stream records a function gets to see."""

import json

import pytest

from quarterhour_tools.emulator.filters import Filters, matches, parse_filters
from quarterhour_tools.errors import ToolError
from tests.support.cases import cases

RECORD = {"eventName": "MODIFY", "dynamodb": {"Keys": {"pk": {"S": "ACCOUNT#1"}, "sk": {"S": "latest"}}}}


def filters(*patterns: object) -> Filters:
    return parse_filters([{"Pattern": json.dumps(pattern)} for pattern in patterns])


@cases(
    ("pattern", "passes"),
    [
        ({"eventName": ["MODIFY"]}, True),
        ({"eventName": ["INSERT", "MODIFY"]}, True),
        ({"eventName": ["INSERT"]}, False),
        ({"eventName": ["MODIFY"], "dynamodb": {"Keys": {"sk": {"S": ["latest"]}}}}, True),
        ({"eventName": ["MODIFY"], "dynamodb": {"Keys": {"sk": {"S": ["DAY"]}}}}, False),
        ({"dynamodb": {"Keys": {"pk": {"S": [{"prefix": "ACCOUNT#"}]}}}}, True),
        ({"dynamodb": {"Keys": {"pk": {"S": [{"suffix": "#1"}]}}}}, True),
        ({"dynamodb": {"Keys": {"pk": {"S": [{"prefix": "ORDER#"}]}}}}, False),
        ({"dynamodb": {"NewImage": {"n": {"N": ["1"]}}}}, False),
        ({"userIdentity": [{"exists": False}]}, True),
        ({"eventName": [{"exists": False}]}, False),
        ({"eventName": [{"anything-but": ["REMOVE", "INSERT"]}]}, True),
        ({"eventName": [{"anything-but": {"prefix": "MOD"}}]}, False),
        ({"eventName": [{"anything-but": "MODIFY"}]}, False),
        ({"missing": [{"anything-but": "MODIFY"}]}, False),
        ({"eventName": [{"equals-ignore-case": "modify"}]}, True),
        ({"eventName": [1, True, None]}, False),
        ({"eventName": []}, False),
    ],
)
def test_a_record_passes_where_each_key_of_the_pattern_fits(pattern: object, passes: bool) -> None:  # noqa: FBT001
    assert matches(filters(pattern), RECORD) is passes


def test_one_of_several_filters_is_enough_and_without_any_all_pass() -> None:
    assert matches(filters({"eventName": ["INSERT"]}, {"eventName": ["MODIFY"]}), RECORD)
    assert matches((), RECORD)


def test_a_number_is_no_truth() -> None:
    assert not matches(filters({"n": [1]}), {"n": True})
    assert matches(filters({"n": [1]}), {"n": 1})


@pytest.mark.parametrize(
    "pattern",
    [
        {"n": [{"numeric": [">", 1]}]},
        {"$or": [{"a": [1]}]},
        {"eventName": "INSERT"},
        {"n": [{"prefix": "a", "suffix": "b"}]},
        [],
    ],
)
def test_a_pattern_that_would_be_misread_is_refused(pattern: object) -> None:
    with pytest.raises(ToolError):
        filters(pattern)
