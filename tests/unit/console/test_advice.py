"""What the console says of a refusal: the form's own words, never the API's."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from quarterhour.ledger.events.event import Rejection, read_event
from quarterhour.registry.agencies.agency import read_agency
from quarterhour.registry.rate_cards.rate_card import read_rate_card
from quarterhour.reports.schedule.expression import ExpressionError, parse
from tests.support.console_modules import NEEDS_NODE, evaluated

pytestmark = NEEDS_NODE

WRONG_RULE = dict.fromkeys(("percent", "product", "category", "location", "currency"), True)
WRONG_CHARGE = dict.fromkeys(("name", "percent", "fixed", "minimum", "maximum"), True)
WRONG_TIERS = {"name": "tiered", "tiers": {"per": "month", "mode": "volume", "steps": [{"from": "5", "percent": "1"}]}}
WRONG_DATA = dict.fromkeys(("amount", "commission", "currency", "reason", "extra", "refers_to", "refers_to_source"), 5)


def refused(problems: Any) -> list[dict[str, str]]:
    """Return the errors of a response as the API writes them."""
    assert isinstance(problems, tuple)
    return [asdict(problem) for problem in problems]


def of_events() -> list[dict[str, str]]:
    """Return the errors of an event whose fields are all wrong."""
    event = {"specversion": "1.0", "source": "finance", "id": "1", "type": "adjustment.recorded", "subject": "42"}
    rejection = read_event({**event, "time": "yesterday", "data": {**WRONG_DATA, "amount": "x", "commission": "x"}})
    assert isinstance(rejection, Rejection)
    return refused(rejection.problems)


REFUSALS = {
    "event": of_events(),
    "agency": refused(
        read_agency(
            dict.fromkeys(
                ("legal_name", "address", "country", "currency", "group", "contact", "status", "valid_from"), 5
            )
            | {"tax": {"scheme": "none", "percent": "250", "vat_id": "x"}}
        )
    ),
    "rate card": refused(read_rate_card({"valid_from": "soon", "rules": [{"percent": "8"}, WRONG_RULE]})),
    "charges": refused(
        read_rate_card(
            {
                "valid_from": "2026-01-01T00:00:00Z",
                "valid_to": "2026-01-01T00:00:00Z",
                "rules": [{"charges": [WRONG_CHARGE, WRONG_TIERS]}],
            }
        )
    ),
    "two rules for the same": refused(
        read_rate_card({"valid_from": "2026-01-01T00:00:00Z", "rules": [{"percent": "8"}, {"percent": "9"}]})
    ),
}


def said(status: int, errors: list[dict[str, str]]) -> Any:
    """Return the title and the lines that the console shows for a refusal."""
    return evaluated("lib/advice.js", f"module.inWords({json.dumps({'status': status, 'errors': errors})})")


@pytest.mark.parametrize("name", REFUSALS)
def test_each_field_that_the_api_can_refuse_has_words_of_the_form(name: str) -> None:
    errors = REFUSALS[name]
    shown = said(422, errors)
    assert shown["title"] == "Not accepted"
    assert len(shown["lines"]) >= min(len(errors), 7 if name != "two rules for the same" else 1)
    text = "\n".join(shown["lines"])
    assert "A value is not accepted" not in text
    for error in errors:
        assert error["expected"] not in text
        assert "." not in error["field"] or error["field"] not in text


def test_a_rule_is_named_by_its_number_in_the_form() -> None:
    errors = [{"field": "content.rules[0].percent", "problem": "is 250", "expected": "a decimal"}]
    assert said(400, errors)["lines"] == ["Rule 1, Percent: Write a number from 0 to 100."]


def test_a_change_that_came_first_is_said_without_the_number_of_its_version() -> None:
    errors = [{"field": "seen", "problem": "is 1", "expected": "2, the latest version"}]
    assert said(409, errors) == {
        "title": "Nothing was written",
        "lines": ["Another change came first. Look at it before you go on."],
    }


def test_what_could_not_be_written_yet_can_be_tried_again() -> None:
    errors = [{"field": "", "problem": "could not be written now", "expected": "the same item again"}]
    assert said(503, errors)["lines"] == ["Try again a little later: nothing is done twice."]


def test_what_is_wrong_with_an_expression_is_said_in_its_own_terms() -> None:
    with pytest.raises(ExpressionError) as refused_:
        parse("rate(5 minutes)")
    errors = [{"field": "expression", "problem": refused_.value.problem, "expected": refused_.value.expected}]
    assert said(400, errors)["lines"] == [
        "Expression: It fires again after 5 minutes. It needs at least 15 minutes between two firings."
    ]
