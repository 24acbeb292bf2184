"""The operator's requests: read from an event, and refused with the field that is wrong and what is right."""

from datetime import date
from typing import Any

import pytest

from quarterhour.maintenance.rebuild.requests import FollowRequest, RebuildRequest, UnparkRequest, read_request
from quarterhour.model.errors import FieldProblem, InvalidError
from quarterhour.model.identifiers import Account
from tests.support.cases import cases


def test_a_request_is_parsed() -> None:
    named = {"action": "rebuild", "account": "42#GBP", "from": "2026-10-23"}
    assert read_request(named) == RebuildRequest(Account("42", "GBP"), date(2026, 10, 23))
    assert read_request({"action": "rebuild"}) == RebuildRequest(None, date.min)
    assert read_request({"action": "rebuild", "account": None, "day": "2026-10-23"}) == RebuildRequest(
        None, date.min, date(2026, 10, 23)
    )
    assert read_request({"action": "follow", "execution": "arn:aws:x"}) == FollowRequest("arn:aws:x")
    assert read_request({"action": "unpark"}) == UnparkRequest()


ACTIONS = "rebuild or follow or unpark"
ACCOUNT = "AGENCY#CURRENCY, such as 42#GBP"
DAY = "a date such as 2026-10-23, of the years 1970 to 9998"
OF_REBUILD = "one of account, action, day, from"


@cases(
    ("event", "problems"),
    [
        ({}, [("action", "is missing", ACTIONS)]),
        ({"action": None}, [("action", "is missing", ACTIONS)]),
        ({"account": "42#GBP"}, [("action", "is missing", ACTIONS)]),
        ({"action": "repair"}, [("action", "is 'repair'", ACTIONS)]),
        ({"action": "Rebuild"}, [("action", "is 'Rebuild'", ACTIONS)]),
        ({"action": 7}, [("action", "is 7", ACTIONS)]),
        ({"action": ["unpark"]}, [("action", "is a list of 1", ACTIONS)]),
        ({"action": "unpark", "account": "42#GBP"}, [("account", "is not known", "one of action")]),
        ({"action": "rebuild", "acount": "42#GBP"}, [("acount", "is not known", OF_REBUILD)]),
        ({"action": "rebuild", "account": "42"}, [("account", "is '42'", ACCOUNT)]),
        ({"action": "rebuild", "account": "#GBP"}, [("account", "is '#GBP'", ACCOUNT)]),
        ({"action": "rebuild", "account": 42}, [("account", "is 42", ACCOUNT)]),
        ({"action": "rebuild", "from": "2026-13-01"}, [("from", "is '2026-13-01'", DAY)]),
        ({"action": "rebuild", "from": "20261023"}, [("from", "is '20261023'", DAY)]),
        ({"action": "rebuild", "from": 20261023}, [("from", "is 20261023", DAY)]),
        (
            {"action": "rebuild", "from": "2026-10-23", "day": "2026-10-23"},
            [("from", "is not for one day", "from or day")],
        ),
        ({"action": "follow"}, [("execution", "is missing", "the ARN of an execution")]),
        ({"action": "follow", "execution": 7}, [("execution", "is 7", "the ARN of an execution")]),
        (
            {"action": "rebuild", "account": "42", "from": "today"},
            [("account", "is '42'", ACCOUNT), ("from", "is 'today'", DAY)],
        ),
    ],
)
def test_a_bad_request_is_refused_with_each_field_and_what_is_expected(
    event: dict[str, Any], problems: list[tuple[str, str, str]]
) -> None:
    with pytest.raises(InvalidError) as refused:
        read_request(event)
    assert list(refused.value.problems) == [FieldProblem(*one) for one in problems]
    assert all(f"{field} {problem}: expected {expected}" in str(refused.value) for field, problem, expected in problems)
