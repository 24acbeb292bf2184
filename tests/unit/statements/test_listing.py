"""The documents of releases: in their list, in the table, and which of a draft's is its statement."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from quarterhour.aws.items import from_item, to_item
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.statements.listing import CREDIT_NOTE, Document, statement_of
from quarterhour.statements.parties import NO_VERSIONS, PartyVersions
from quarterhour.statements.releases.items import statement_item
from quarterhour.statements.remainders import NOTHING, Remainder, Remainders
from tests.support.stored_statements import document

BOUND = QuarterHour.parse("202611040000")
FIRST = replace(
    document("=1+1", closing="12.50", commission="12.50"),
    due_on=date(2026, 12, 4),
    dispute_until=date(2026, 11, 18),
    silence_at="2026-11-19T00:00:00.000Z",
    parties=PartyVersions(3, 7),
)
CANCELLING = replace(FIRST, number="C-000001", kind=CREDIT_NOTE, revision=2, release=2, cancels="S-000001")
AGAIN = replace(FIRST, number="S-000002", revision=3, release=3)
LEFT = Remainders({(("standard", Decimal(19)), "commission"): Remainder(Decimal("-0.004"))})


@pytest.mark.parametrize("one", [FIRST, CANCELLING, replace(FIRST, due_on=None, dispute_until=None, silence_at=None)])
@pytest.mark.parametrize("carried", [NOTHING, LEFT])
@pytest.mark.parametrize("remainders", [NOTHING, LEFT, Remainders(proceeds=Decimal("0.005"))])
def test_a_document_is_read_as_the_table_keeps_it(one: Document, carried: Remainders, remainders: Remainders) -> None:
    with_remainders = replace(one, carried=carried, remainders=remainders)
    kept = with_remainders.as_dict()
    assert Document.of(from_item(to_item(kept))) == with_remainders
    assert ("carried" in kept, "remainders" in kept) == (carried != NOTHING, remainders != NOTHING)


def test_a_row_holds_no_dates_and_no_parties() -> None:
    without = replace(FIRST, issued_on=date.min, due_on=None, dispute_until=None, silence_at=None)
    listed = replace(without, release=7, planned_at="", parties=NO_VERSIONS)
    assert Document.of_row(FIRST.as_row(), 7) == listed
    assert FIRST.as_row()[3] == "'=1+1"


def test_the_statement_of_a_draft_is_the_last_document_that_cancels_no_other() -> None:
    item = None
    for one, statement in ((FIRST, FIRST), (CANCELLING, FIRST), (AGAIN, AGAIN)):
        item = statement_item(one, BOUND, item)
        assert statement_of(item) == statement
    assert statement_of(statement_item(AGAIN, BOUND, item)) == AGAIN, "a release that is published again"


def test_a_release_cancels_before_it_states_and_accounts_follow_their_names() -> None:
    cancelling, again = replace(CANCELLING, release=3), replace(AGAIN, period=FIRST.period.previous)
    assert sorted([again, FIRST, cancelling], key=lambda one: one.place) == [FIRST, cancelling, again]
