"""What the statements of a month still need before its ledger items may be archived."""

import pytest

from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.statements.unfinished import Unfinished

OCTOBER, NOVEMBER, DECEMBER = Period(2026, 10), Period(2026, 11), Period(2026, 12)
END_OF_OCTOBER = QuarterHour.last_of(OCTOBER.last_day)
FINISHED = Unfinished(END_OF_OCTOBER, DECEMBER, DECEMBER)


@pytest.mark.parametrize("finished", [FINISHED, FINISHED._replace(open_draft=None, open_dispute=None)])
def test_a_month_is_finished_if_only_later_ones_are_open(finished: Unfinished) -> None:
    assert finished.of_month(OCTOBER) is None


@pytest.mark.parametrize(
    ("unfinished", "reason"),
    [
        (FINISHED._replace(drafted_through=None), "the lines of 2026-10 are not all in drafts"),
        (FINISHED._replace(drafted_through=END_OF_OCTOBER.previous), "the lines of 2026-10 are not all in drafts"),
        (FINISHED._replace(open_draft=NOVEMBER), "a draft of 2026-11 is not released"),
        (FINISHED._replace(open_dispute=OCTOBER), "a dispute of 2026-10 is open"),
    ],
)
def test_a_month_is_unfinished_until_nothing_of_it_is_open(unfinished: Unfinished, reason: str) -> None:
    assert unfinished.of_month(OCTOBER) == reason
