"""A release: which drafts it takes, in which order, and with which numbers."""

from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.items import from_item, to_item
from quarterhour.model.identifiers import Account
from quarterhour.model.money import Rounding
from quarterhour.model.periods import Calendar, Period
from quarterhour.statements.drafts.draft import DraftItem, DraftState
from quarterhour.statements.listing import Document
from quarterhour.statements.parties import PartyVersions
from quarterhour.statements.plan import StatementSettings
from quarterhour.statements.releases.plan import (
    PlannedDocument,
    Releasable,
    ReleaseEntry,
    ReleasePlan,
    ReleaseProgress,
    document_kind,
    next_numbers,
    next_plan,
    numbered,
)
from tests.support.drafts import decision, draft_item
from tests.support.stored_statements import document

NEW, HELD = DraftState.NEW, DraftState.HELD
RELEASING, CANCELLING = DraftState.RELEASING, DraftState.CANCELLING
NOW = datetime(2026, 11, 4, 0, 20, tzinfo=UTC)
SETTINGS = StatementSettings(Calendar(), "UTC", "1.0")
BY_YEAR = StatementSettings(Calendar(), "Europe/Amsterdam", "1.0", prefixes=("S-{year}-", "C-"))
OCTOBER, FORTY_TWO = Period(2026, 10), Account("42", "GBP")
STATEMENT = replace(document("42", closing="12.50"), parties=PartyVersions(3, 7))
"""A statement that a release cancels or replaces."""
PARTIES = {
    (Period.parse(period), Account(agency, "GBP")): PartyVersions(1, 2)
    for period in ("2026-10", "2026-11")
    for agency in ("42", "7", "8")
}


def half_even(_: Period) -> Rounding:
    return Rounding.HALF_EVEN


def planned(settings: StatementSettings = SETTINGS, at: datetime = NOW, **changed: Any) -> ReleasePlan:
    """Return the plan of the first release, or of the one after a progress."""
    return next_plan(ReleaseProgress(**changed), at, settings)


def entries(*drafts: DraftItem, **statements: Document) -> list[ReleaseEntry]:
    """Return the documents of the first release. ``statements``: the statement of an account, as ``of_42``."""
    existing = {(OCTOBER, Account(name.removeprefix("of_"), "GBP")): one for name, one in statements.items()}
    return list(numbered(planned(), Releasable(drafts, PARTIES), existing, {}, half_even))


def numbers(*drafts: DraftItem, **statements: Document) -> list[tuple[str, str, str]]:
    return [
        (entry.account.agency, str(one.period), one.number)
        for entry in entries(*drafts, **statements)
        for one in entry.documents
    ]


# ---------------------------------------------------------------- which drafts


@pytest.mark.parametrize("state", DraftState)
def test_later_drafts_of_an_account_wait_for_one_that_was_never_released_and_is_not_to_be_now(
    state: DraftState,
) -> None:
    assert draft_item(state=state).comes_first == (state is not RELEASING)
    assert not draft_item(state=state, revision=2).comes_first, "its statement was cancelled"


# ---------------------------------------------------------------- numbers


def test_numbers_follow_the_accounts_and_their_periods() -> None:
    found = numbers(
        draft_item("7", "2026-10", RELEASING),
        draft_item("42", "2026-11", RELEASING),
        draft_item("42", "2026-10", RELEASING),
    )
    assert found == [
        ("42", "2026-10", "S-000001"),
        ("42", "2026-11", "S-000002"),
        ("7", "2026-10", "S-000003"),
    ]


@pytest.mark.parametrize(
    ("commission", "number"),
    [("1", "S-000001"), ("0", "S-000001"), ("-0.005", "S-000001"), ("-0.0051", "C-000001"), ("-1", "C-000001")],
)
def test_a_negative_commission_makes_a_credit_note_with_a_number_of_its_own(commission: str, number: str) -> None:
    assert numbers(draft_item("42", "2026-10", RELEASING, commission=commission)) == [("42", "2026-10", number)]


def test_what_is_a_credit_note_depends_on_the_rounding_and_the_currency() -> None:
    cent = Decimal("-0.005")
    assert document_kind(cent, "GBP", Rounding.HALF_EVEN) == "statement"
    assert document_kind(cent, "GBP", Rounding.HALF_UP) == "credit_note"
    assert document_kind(cent, "BHD", Rounding.HALF_EVEN) == "credit_note"


def test_a_cancellation_reverses_the_kind_of_its_document_and_comes_before_new_statements() -> None:
    cancelled = draft_item("42", "2026-10", CANCELLING, revision=1, number="S-000001")
    (entry,) = entries(draft_item("42", "2026-11", RELEASING), cancelled, of_42=STATEMENT)
    carried = {"taxes": [], "proceeds": "0"}
    cancels = {"number": "S-000001", "document": "statement", "issued_on": "2026-11-04", "carried": carried}
    of_cancelled, of_new = PartyVersions(3, 7), PartyVersions(1, 2)
    assert entry.documents == [
        PlannedDocument(OCTOBER, "C-000001", "credit_note", "d" * 64, 2, of_cancelled, cancels),
        PlannedDocument(Period(2026, 11), "S-000001", "statement", "d" * 64, 1, of_new),
    ]


def test_a_cancellation_of_a_later_month_comes_before_a_new_statement_of_an_earlier_one() -> None:
    cancelled = draft_item("42", "2026-11", CANCELLING, revision=1, number="S-000001")
    again = draft_item("42", "2026-10", RELEASING, revision=2)
    existing = {(Period(2026, 11), FORTY_TWO): STATEMENT}
    (entry,) = numbered(planned(), Releasable([again, cancelled], PARTIES), existing, {}, half_even)
    assert [(str(one.period), one.number) for one in entry.documents] == [
        ("2026-11", "C-000001"),
        ("2026-10", "S-000001"),
    ]


@pytest.mark.parametrize(
    ("commission", "kind", "number"),
    [("-3", "credit_note", "S-000001"), ("0", "statement", "C-000001"), ("3", "statement", "C-000001")],
)
def test_a_cancelled_credit_note_is_reversed_by_a_statement(commission: str, kind: str, number: str) -> None:
    draft = draft_item("42", "2026-10", CANCELLING, commission=commission, revision=1, number="X-1")
    assert numbers(draft, of_42=replace(STATEMENT, kind=kind)) == [("42", "2026-10", number)]


def test_a_new_statement_names_the_one_that_it_replaces() -> None:
    (entry,) = entries(draft_item("42", "2026-10", RELEASING, revision=2), of_42=STATEMENT)
    (again,) = entry.documents
    assert (again.number, again.revision, again.replaces) == ("S-000001", 3, "S-000001")
    assert again.cancels is None


def test_an_entry_has_the_last_document_of_its_account_and_is_read_as_it_was_written() -> None:
    last = document("42", period="2026-09", closing="7.00")
    drafts = [draft_item("42", "2026-10", CANCELLING, revision=1), draft_item("7", "2026-10", RELEASING)]
    found = list(
        numbered(
            planned(), Releasable(drafts, PARTIES), {(OCTOBER, FORTY_TWO): STATEMENT}, {FORTY_TWO: last}, half_even
        )
    )
    assert [entry.last for entry in found] == [last, None]
    assert [ReleaseEntry.of(entry.as_list()) for entry in found] == found


# ---------------------------------------------------------------- series


def test_a_prefix_with_the_year_of_issue_begins_with_1_each_year() -> None:
    """At 23:30 UTC on 31 December, Amsterdam has the next year."""
    plan = next_plan(ReleaseProgress(series={"C-": 4}), datetime(2026, 12, 31, 22, 30, tzinfo=UTC), BY_YEAR)
    assert (plan.prefixes, plan.series) == (("S-2026-", "C-"), {"C-": 4})
    draft = draft_item("42", "2026-10", RELEASING)
    (entry,) = numbered(plan, Releasable([draft], PARTIES), {}, {}, half_even)
    assert entry.documents[0].number == "S-2026-000001"
    series = next_numbers(plan, ["statement", "statement"])
    assert series == {"S-2026-": 3, "C-": 4}
    after = next_plan(ReleaseProgress(1, "a" * 64, series), datetime(2026, 12, 31, 23, 30, tzinfo=UTC), BY_YEAR)
    assert (after.number, after.previous_sha256, after.prefixes[0]) == (2, "a" * 64, "S-2027-")
    (entry,) = numbered(after, Releasable([draft], PARTIES), {}, {}, half_even)
    assert entry.documents[0].number == "S-2027-000001"


def test_a_plan_and_a_progress_are_read_as_the_table_keeps_them() -> None:
    plan = planned(BY_YEAR, last=3, manifest_sha256="b" * 64, series={"S-2026-": 12, "C-": 2})
    assert ReleasePlan.of(from_item(to_item(plan.as_dict()))) == plan
    values = {"last": 3, "manifest_sha256": "b" * 64, "series": {"S-2026-": 12, "C-": 2}, "plan": plan.as_dict()}
    progress = ReleaseProgress(3, "b" * 64, {"S-2026-": 12, "C-": 2}, plan)
    assert ReleaseProgress.of(from_item(to_item(values))) == progress


DRAFTS = st.lists(
    st.tuples(
        st.sampled_from(["42", "7", "8"]),
        st.sampled_from(["2026-10", "2026-11"]),
        st.sampled_from([RELEASING, CANCELLING]),
        st.sampled_from(["3", "-3", "0", "-0.004"]),
        st.sampled_from(["statement", "credit_note"]),
    ),
    max_size=6,
    unique_by=lambda one: one[:2],
)


@given(st.lists(st.tuples(DRAFTS, st.integers(0, 400)), max_size=6), st.sampled_from([SETTINGS, BY_YEAR]))
def test_no_number_is_left_out_or_given_twice(
    releases: list[tuple[list[tuple[str, str, DraftState, str, str]], int]], settings: StatementSettings
) -> None:
    """``releases``: the drafts of each, and the days that pass before it."""
    progress, now = ReleaseProgress(), NOW
    given_: defaultdict[str, list[str]] = defaultdict(list)
    for some, days in releases:
        now += timedelta(days=days)
        plan = next_plan(progress, now, settings)
        drafts = [draft_item(name, period, state, commission=exact) for name, period, state, exact, _ in some]
        existing = {
            (Period.parse(period), Account(name, "GBP")): replace(STATEMENT, kind=kind)
            for name, period, state, _, kind in some
            if state is CANCELLING
        }
        documents = [
            one
            for entry in numbered(plan, Releasable(drafts, PARTIES), existing, {}, half_even)
            for one in entry.documents
        ]
        assert len(documents) == len(some)
        for one in documents:
            given_[one.number[:-6]].append(one.number)
        series = next_numbers(plan, [one.kind for one in documents])
        assert all(series[prefix] == len(given_[prefix]) + 1 for prefix in series)
        progress = ReleaseProgress(plan.number, "a" * 64, series)
    for prefix, found in given_.items():
        assert found == [f"{prefix}{number:06d}" for number in range(1, len(found) + 1)]


# ---------------------------------------------------------------- the item of a draft


@pytest.mark.parametrize("state", DraftState)
def test_the_item_of_a_draft_is_read_as_it_was_written_and_is_indexed_by_its_state(state: DraftState) -> None:
    draft = draft_item(state=state, by_default=2, revision=1, number="S-1", decisions=[decision(HELD, reason="why")])
    item = draft.as_item()
    assert DraftItem.of(from_item(to_item(item))) == draft
    place = "2026-10#42#GBP"
    without_statement = state not in {DraftState.RELEASED, DraftState.CANCEL_PROPOSED, CANCELLING}
    assert (item.get("gsi1pk"), item.get("gsi1sk")) == (("OPEN-DRAFTS", place) if without_statement else (None, None))
    due = state in {NEW, RELEASING, CANCELLING}
    assert (item.get("gsi2pk"), item.get("gsi2sk")) == (("DUE-DRAFTS", place) if due else (None, None))
