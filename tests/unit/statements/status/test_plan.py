"""Statuses and disputes: what may follow a status, which events are on a statement, what corrects a line."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import pytest

from quarterhour.aws.items import from_item, to_item
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import ConflictError, ForbiddenError
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.statements.releases.items import statement_item
from quarterhour.statements.status.plan import (
    FOLLOWING,
    OF_AGENCY,
    Dispute,
    Party,
    StatementChange,
    StatementDecision,
    StatementHistory,
    StatementName,
    Status,
    StatusRequest,
    check_party,
    correction_of,
    is_on,
    opened,
    planned_change,
    resolved,
)
from quarterhour.web.access import Caller, Role
from tests.support.builders import MACHINE, one_of_staff, person
from tests.support.cases import cases
from tests.support.names import near
from tests.support.stored_statements import document, plan_of

NAME = StatementName(Period(2026, 10), Account("42", "GBP"))
LINE = Identity("shop", "e-1")
ANN = person("42")
BY_ANN = StatementDecision("ann", Party.AGENCY, "2026-11-05T10:00:00.000Z", "returned")
BY_US = StatementDecision("arn:shop", Party.MARKETPLACE, "2026-11-06T10:00:00.000Z", "agreed")


def history(*changes: StatementChange, days: int = 0) -> StatementHistory:
    """Return a statement of 4 November in UTC that silence accepts after some days, at the end of the last one."""
    issued_on = date(2026, 11, 4)
    one = document()
    if days:
        until = issued_on + timedelta(days=days)
        silence_at = iso_millis(datetime(2026, 11, 5, tzinfo=UTC) + timedelta(days=days))
        one = replace(one, issued_on=issued_on, dispute_until=until, silence_at=silence_at)
    statement = statement_item(one, QuarterHour.parse("202611040000"))
    found = StatementHistory.of([statement, *(one.as_item(NAME, number) for number, one in enumerate(changes, 1))])
    assert found
    return found


def unanswered(days: int, *changes: StatementChange) -> StatementHistory:
    return history(*changes, days=days)


def facts(**changed: str) -> dict[str, str]:
    recorded = {"recorded_at": "2026-10-23T01:30:00.000Z", "period": "2026-10", "position": "p"}
    return {"source": "shop", "id": "e-1", "agency": "42", "currency": "GBP", **recorded, **changed}


def dispute() -> Dispute:
    return opened(history(), LINE, facts(), BY_ANN)[0]


def stored(item: dict[str, Any]) -> dict[str, Any]:
    """Return an item as the table gives it back."""
    return from_item(to_item(item))


@cases("before", Status)
@cases("after", Status)
def test_a_status_is_followed_by_those_that_the_table_allows(before: Status, after: Status) -> None:
    so_far = history() if before is Status.ISSUED else history(StatementChange(before, BY_US))
    request = StatusRequest(after, "agreed", len(so_far.changes))
    if after in FOLLOWING[before]:
        assert planned_change(so_far, request, BY_US) == StatementChange(after, BY_US)
    else:
        reason = f"is {before}, and cannot become {after}"
        if Status.CANCELLED in {before, after}:
            reason = "is cancelled: it owes nothing" if before is Status.CANCELLED else "is cancelled by a document"
        with pytest.raises(ConflictError, match=reason):
            planned_change(so_far, request, BY_US)


@pytest.mark.parametrize("status", Status)
def test_people_set_only_what_is_theirs(status: Status) -> None:
    check_party(status, MACHINE)
    check_party(status, one_of_staff(Role.FINANCE))
    if status in OF_AGENCY:
        check_party(status, ANN)
    else:
        with pytest.raises(ForbiddenError, match="accepted or disputed"):
            check_party(status, ANN)


BY_STATUS: Final = {
    "issued": history(),
    "accepted": history(StatementChange(Status.ACCEPTED, BY_ANN)),
    "disputed": history(StatementChange(Status.DISPUTED, BY_ANN)),
    "a line disputed": history(StatementChange(Status.DISPUTED, BY_ANN, LINE)),
    "disputed with a line": history(
        StatementChange(Status.DISPUTED, BY_ANN), StatementChange(Status.DISPUTED, BY_ANN, LINE)
    ),
    "disputed, its line resolved": history(
        StatementChange(Status.DISPUTED, BY_ANN),
        StatementChange(Status.DISPUTED, BY_ANN, LINE),
        StatementChange(Status.DISPUTED, BY_US, LINE),
    ),
    "resolved": history(StatementChange(Status.DISPUTED, BY_ANN, LINE), StatementChange(Status.RESOLVED, BY_US, LINE)),
}


@pytest.mark.parametrize(
    ("name", "of_agency", "of_finance"),
    [
        ("issued", (["accepted", "disputed"], True, False), (["accepted", "disputed"], False, False)),
        ("accepted", ([], False, False), ([], False, False)),
        ("disputed", ([], True, False), (["resolved"], False, False)),
        ("a line disputed", ([], True, False), ([], False, True)),
        ("disputed with a line", ([], True, False), ([], False, True)),
        ("disputed, its line resolved", ([], True, False), (["resolved"], False, False)),
        ("resolved", ([], False, False), ([], False, False)),
    ],
)
def test_a_history_says_what_its_reader_may_do_now(
    name: str, of_agency: tuple[list[str], bool, bool], of_finance: tuple[list[str], bool, bool]
) -> None:
    def may(caller: Caller) -> tuple[list[str], bool, bool]:
        found = BY_STATUS[name].shown_to(caller)
        return [*map(str, found["may_become"])], found["may_dispute_lines"], found["may_resolve_lines"]

    assert may(ANN) == of_agency
    assert may(one_of_staff(Role.FINANCE)) == of_finance
    assert may(MACHINE) == (of_finance[0], of_agency[1], of_finance[2])
    assert may(one_of_staff(Role.SUPPORT, Role.AUDITOR)) == ([], False, False)


def test_a_history_is_read_back_as_it_was_written_in_either_order() -> None:
    line = StatementChange(Status.DISPUTED, BY_ANN, LINE)
    last = StatementChange(Status.RESOLVED, BY_US, LINE, Identity("shop", "r-1"))
    so_far = history(line, last)
    items = [
        {**so_far.statement},
        stored(line.as_item(NAME, 1)),
        stored(last.as_item(NAME, 2)),
    ]
    assert StatementHistory.of(items) == StatementHistory.of(items[::-1]) == so_far
    assert so_far.status is Status.RESOLVED
    assert StatementHistory.of(items[1:]) is None, "the changes alone are no statement"


def test_a_dispute_is_read_back_as_it_was_written() -> None:
    over = dispute().resolution(BY_US, Identity("shop", "r-1"))
    assert [Dispute.of(stored(one.as_item())) for one in (dispute(), over)] == [dispute(), over]


def test_people_see_no_operators_of_the_marketplace() -> None:
    over = dispute().resolution(BY_US)
    shown = over.shown_to(ANN)
    assert (shown["opened"]["by"], "by" in shown["resolved"]) == ("ann", False)
    assert over.shown_to(MACHINE)["resolved"]["by"] == "arn:shop"


def test_the_last_resolved_line_resolves_the_statement() -> None:
    over, so_far = dispute().resolution(BY_US), history(StatementChange(Status.DISPUTED, BY_ANN, LINE))
    assert [resolved(so_far, over, others).status for others in (2, 1, 0)] == [
        Status.DISPUTED, Status.DISPUTED, Status.RESOLVED
    ]  # fmt: skip
    disputed_itself = history(StatementChange(Status.DISPUTED, BY_ANN), *so_far.changes)
    assert resolved(disputed_itself, over, 0).status is Status.DISPUTED


def test_the_corrections_of_a_corrections_line_refer_to_its_sale() -> None:
    refund = facts(id="r-1", refers_to="e-1")
    assert opened(history(), Identity("shop", "r-1"), refund, BY_ANN)[0].subject == LINE
    assert dispute().subject == LINE
    back = Identity("shop", "back")
    assert opened(history(), back, refund, BY_ANN)[0].subject == LINE, "a void of a refund has the facts of the refund"
    unlinked = opened(history(), back, facts(id="r-1"), BY_ANN)[0]
    assert (unlinked.line, unlinked.subject) == (back, Identity("shop", "r-1"))


def test_a_statement_with_very_many_changes_takes_no_further_dispute() -> None:
    many = history(*[StatementChange(Status.DISPUTED, BY_ANN, LINE)] * 400)
    with pytest.raises(ConflictError, match="has 400 changes"):
        opened(many, LINE, facts(), BY_ANN)


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, True),
        ({"period": "2026-09"}, False),  # on the statement before
        ({"period": "2026-09", "recorded_at": "2026-10-05T00:00:00.000Z"}, True),  # a prior period's
        ({"period": "2026-11"}, False),
        ({"recorded_at": "2026-11-04T00:15:00.000Z"}, False),  # after the bound
        ({"recorded_at": "2026-11-04T00:14:59.999Z"}, True),
        ({"agency": "43"}, False),
        ({"currency": "EUR"}, False),
    ],
)
def test_an_event_is_on_the_statement_on_which_the_run_has_put_its_line(
    changed: dict[str, str],
    expected: bool,  # noqa: FBT001
) -> None:
    plan = plan_of(first_period=Period(2026, 9), after=QuarterHour.parse("202610040000"))
    if changed.get("period") == "2026-09" and "recorded_at" not in changed:
        changed = {**changed, "recorded_at": "2026-10-01T00:00:00.000Z"}
    assert is_on(plan, NAME, facts(**changed)) is expected


def test_the_first_later_event_that_refers_to_a_line_corrects_it() -> None:
    early, second, first = (
        facts(id=id_, recorded_at=at)
        for id_, at in (
            ("early", "2026-11-05T10:00:00.000Z"),
            ("second", "2026-11-07T10:00:00.000Z"),
            ("first", "2026-11-05T10:00:00.001Z"),
        )
    )
    assert correction_of(dispute(), [early, second, first]) == first
    assert correction_of(dispute(), [early]) is None


ACCEPTED: Final = history(StatementChange(Status.ACCEPTED, BY_ANN))


def test_a_decision_that_is_sent_again_is_a_retry() -> None:
    again = replace(BY_ANN, at="2026-11-05T10:00:09.000Z")
    assert planned_change(ACCEPTED, StatusRequest(Status.ACCEPTED, "returned", 0), again) is None


@cases(
    "other",
    [
        replace(BY_ANN, party=Party.MARKETPLACE),
        *(replace(BY_ANN, by=name) for name in near("ann")),
        *(replace(BY_ANN, reason=reason) for reason in near("returned")),
    ],
    ids=repr,
)
def test_a_decision_of_the_other_side_of_another_name_or_for_another_reason_is_no_retry(
    other: StatementDecision,
) -> None:
    with pytest.raises(ConflictError, match="has 1 changes of its status, not 0"):
        planned_change(ACCEPTED, StatusRequest(Status.ACCEPTED, other.reason, 0), other)


@cases("agency", near("42"))
def test_an_event_of_an_agency_with_a_similar_name_is_not_on_a_statement(agency: str) -> None:
    assert not is_on(plan_of(), NAME, facts(agency=agency))


# ---------------------------------------------------------------- silence

LAST_MOMENT = datetime(2026, 12, 4, 23, 59, 59, tzinfo=UTC)
TOO_LATE = datetime(2026, 12, 5, tzinfo=UTC)


def test_silence_accepts_a_statement_at_the_end_of_the_last_day_for_an_answer() -> None:
    issued = unanswered(30)
    assert issued.as_of(LAST_MOMENT) == issued
    accepted = issued.as_of(TOO_LATE)
    assert (accepted.status, accepted.may_become(MACHINE)) == (Status.ACCEPTED, [])
    shown = accepted.shown_to(ANN)
    assert shown["history"] == [
        {
            "status": "accepted", "by": "silence", "party": "agency", "at": "2026-12-05T00:00:00.000Z",
            "reason": "not answered within 30 days",
        }
    ]  # fmt: skip
    assert (shown["changes"], shown["may_dispute_lines"]) == (1, False)


def test_silence_accepts_neither_what_is_answered_nor_a_statement_without_days() -> None:
    for status in (Status.ACCEPTED, Status.DISPUTED, Status.RESOLVED):
        answered = unanswered(1, StatementChange(status, BY_ANN))
        assert answered.as_of(TOO_LATE) == answered
    assert history().as_of(TOO_LATE) == unanswered(0).as_of(TOO_LATE) == history()


@pytest.mark.parametrize("seen", [0, 1])
@pytest.mark.parametrize("status", [Status.ACCEPTED, Status.DISPUTED])
def test_an_answer_after_silence_is_refused_and_says_since_when(seen: int, status: Status) -> None:
    accepted = unanswered(30).as_of(TOO_LATE)
    with pytest.raises(ConflictError, match=r"was accepted by silence at 2026-12-05T00:00:00\.000Z, and cannot become"):
        planned_change(accepted, StatusRequest(status, "wrong", seen), BY_ANN)
    with pytest.raises(ConflictError, match="was accepted by silence"):
        opened(accepted, LINE, facts(), BY_ANN)


def test_a_retry_of_a_change_before_silence_is_still_a_retry() -> None:
    issued = StatementChange(Status.ISSUED, BY_US)
    accepted = unanswered(1, issued).as_of(TOO_LATE)
    assert accepted.by_silence
    assert planned_change(accepted, StatusRequest(Status.ISSUED, BY_US.reason, 0), BY_US) is None
