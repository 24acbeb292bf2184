"""What a check sends and expects, and its page: cancelled out, and without anything that identifies an account."""

from datetime import UTC, datetime
from decimal import Decimal

import pytest

from quarterhour.ledger.events.event import Event, read_event
from quarterhour.model.clock import parse_iso
from quarterhour.web.static_files import PROTECTION, security_policy
from quarterhour_tools.operations.check import plan
from quarterhour_tools.operations.check.command import Checked, check_page, lines, summary
from quarterhour_tools.operations.check.outcome import AnsweredCall, Outcome, StepResult, request_id
from quarterhour_tools.operations.check.steps import CLEAN, STEPS
from tests.support.html import Page

NOW = datetime(2026, 11, 28, 7, 0, tzinfo=UTC)
FILES = "https://files.example"
HEADERS = {"content-security-policy": security_policy([FILES]), **PROTECTION}


def listed(event: plan.Event, **more: str) -> plan.Event:
    """Return an event as the API lists it, without figures."""
    data = event["data"]
    shown = {name: data[name] for name in ("currency", "refers_to") if name in data}
    return {**{name: event[name] for name in ("source", "id", "type", "time")}, **shown, **more}


def test_the_events_of_a_check_and_their_voids_are_valid() -> None:
    events = plan.events("run", NOW, "EUR")
    voids = plan.voids(listed(one) for one in events)
    assert all(isinstance(read_event(one), Event) for one in [*events, *voids])
    assert [one["type"] for one in events] == ["sale.recorded"] * 3 + ["sale.refunded"]
    assert [one["id"] for one in voids] == [f"run-{number}-void" for number in (1, 2, 3)]


def test_a_void_counts_in_the_month_of_its_sale_and_is_sent_once() -> None:
    first, *others = [listed(one) for one in plan.events("run", NOW, "EUR")[:3]]
    without_time = {name: value for name, value in first.items() if name != "time"}
    without_time["recorded_at"] = "2026-10-31T23:59:59.000Z"
    (void,) = plan.voids([without_time])
    assert void["time"] == "2026-10-31T23:59:59.000Z"
    voids = [listed(one) for one in plan.voids(others)]
    assert plan.voids([*others, *voids]) == []


def test_totals_are_those_of_the_ledger_by_currency() -> None:
    figures = {"EUR": ["12.34", "-5.00"], "JPY": ["7"]}
    events = [
        {"currency": currency, "amount": amount, "commission": str(Decimal(amount) / 8)}
        for currency, amounts in figures.items()
        for amount in amounts
    ]
    found = plan.totals(events)
    assert (found["EUR"].events, found["EUR"].net, found["EUR"].commission) == (2, Decimal("7.34"), Decimal("0.9175"))
    assert found["JPY"].gross == 7


def test_events_count_before_the_first_period_with_statements_if_it_is_known() -> None:
    assert plan.time_of("", NOW) == NOW
    assert plan.time_of("2026-01", NOW) == parse_iso("2025-12-15T12:00:00Z")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({}, None),
        ({"content-security-policy": ""}, "default-src is missing, expected 'none'"),
        (
            {"content-security-policy": security_policy([FILES]).replace("script-src 'self'", "script-src *")},
            "script-src is *, expected 'self'",
        ),
        ({"content-security-policy": f"{security_policy([FILES])}; report-uri x"}, "report-uri is not expected"),
        ({"content-security-policy": security_policy([])}, "connect-src lacks the host of sealed files"),
        ({"referrer-policy": "origin"}, "referrer-policy is origin, expected no-referrer"),
    ],
)
def test_a_weaker_policy_is_a_problem(changed: dict[str, str], problem: str | None) -> None:
    found = plan.policy_problems({**HEADERS, **changed}, FILES)
    assert found[:1] == ([problem] if problem else [])


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "User: arn:aws:iam::123456789012:user/ann is not authorized to perform: lambda:InvokeFunction",
            "User: <arn> is not authorized to perform: lambda:InvokeFunction",
        ),
        (
            'Could not connect to "https://abc123.execute-api.eu-west-1.amazonaws.com/me"',
            'Could not connect to "<address>"',
        ),
        ("host abc123.execute-api.eu-west-1.amazonaws.com failed", "host <host> failed"),
        ("account 123456789012, key AKIAEXAMPLEEXAMPLE12, ann@shop.example", "account <account>, key <key>, <mail>"),
        ("sealed by the run 2026-10-23T0130-0230", "sealed by the run 2026-10-23T0130-0230"),
    ],
)
def test_what_identifies_an_account_or_a_person_is_not_shown(text: str, shown: str) -> None:
    assert plan.redacted(text) == shown


RESULTS = [
    StepResult("record", "Events recorded", Outcome.PASSED, NOW, 0.24, "4 events recorded", "latency"),
    StepResult(
        "count",
        "Events counted",
        Outcome.FAILED,
        NOW,
        900.0,
        "the counters <lag>",
        "streams",
        tuple(
            AnsweredCall(NOW, "GET /accounts", status, f"id-{number}") for number, status in enumerate((404, 404, 200))
        ),
    ),
]


def test_the_page_has_each_step_with_what_only_aws_shows_and_each_call() -> None:
    read = Page(check_page(Checked(aws=False, region="", version="1.0.0", at=NOW), RESULTS))
    text = " ".join(read.text.split())
    assert "1 passed, 1 failed" in text
    assert "Events counted failed the counters <lag> streams 900.0" in text
    assert "07:00:00 count GET /accounts id-1 2 404" in text
    assert "an emulator" in text
    assert "The last column says what this run could not show." in text
    deployed = Page(check_page(Checked(aws=True, region="eu-west-1", version="1.0.0", at=NOW), RESULTS))
    assert "AWS, eu-west-1" in deployed.text
    assert "could not show" not in deployed.text


def test_a_terminal_gets_the_same_as_lines() -> None:
    assert [one.strip() for one in lines(RESULTS[1])] == [
        "failed        900.0 s  Events counted: the counters <lag>",
        "GET /accounts 404 id-1 (2 times)",
        "GET /accounts 200 id-2",
    ]
    assert summary(RESULTS) == "1 passed, 1 failed"


def test_the_request_id_is_the_one_that_logs_name() -> None:
    assert request_id({"X-Amzn-RequestId": "lambda"}) == "lambda"
    assert request_id({"apigw-requestid": "gateway", "x-request-id": "function"}) == "function"
    assert request_id({}) == ""


def test_each_step_follows_those_that_it_needs_and_has_a_part_that_only_aws_shows() -> None:
    before: set[str] = set()
    for step in [*STEPS, CLEAN]:
        assert before >= set(step.after)
        assert step.only_aws
        before.add(step.name)
