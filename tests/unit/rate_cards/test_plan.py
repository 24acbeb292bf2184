"""The version of a rate card in force: the newest of those valid at an instant."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.documents.timeline import Start, Timeline, timeline_of, timeline_values, version_at, with_start
from quarterhour.rate_cards.plan import RateCards
from tests.support.builders import instants, utc
from tests.unit.rate_cards.builders import OCTOBER, rate_card


def timeline(starts: list[datetime]) -> Timeline:
    """Return the timeline of a rate card whose versions, from 1 on, are valid from these instants."""
    made: Timeline = ()
    for version, valid_from in enumerate(starts, 1):
        made = with_start(made, Start(version, valid_from))
    return made


@given(starts=st.lists(instants, max_size=10), at=instants)
def test_the_newest_valid_version_is_in_force(starts: list[datetime], at: datetime) -> None:
    valid = [version for version, valid_from in enumerate(starts, 1) if valid_from <= at]
    assert version_at(timeline(starts), at) == max(valid, default=None)


@given(st.lists(instants, max_size=10))
def test_a_timeline_is_in_rising_order_and_is_read_back_from_its_item(starts: list[datetime]) -> None:
    made = timeline(starts)
    assert [one.version for one in made] == sorted({one.version for one in made})
    assert [one.valid_from for one in made] == sorted({one.valid_from for one in made})
    assert timeline_of({"timeline": timeline_values(made)}) == made


@pytest.mark.parametrize(
    ("starts", "in_force"),
    [
        (["01:00", "03:00"], {"00:59": None, "01:00": 1, "02:59": 1, "03:00": 2}),
        # A later version with an earlier instant also replaces the versions that would start after it.
        (["01:00", "03:00", "02:00"], {"01:59": 1, "02:00": 3, "03:30": 3}),
        (["01:00", "01:00"], {"01:00": 2}),
    ],
)
def test_a_later_version_replaces_those_it_overlaps(starts: list[str], in_force: dict[str, int | None]) -> None:
    made = timeline([utc(one) for one in starts])
    assert {at: version_at(made, utc(at)) for at in in_force} == in_force


def test_rate_cards_return_the_versions_that_are_not_read_yet() -> None:
    later = OCTOBER + timedelta(days=20)
    rate_cards = RateCards({"42": timeline([OCTOBER, later])}, {("42", 2): rate_card()})
    assert rate_cards.missing({("42", later), ("7", later), ("42", OCTOBER - timedelta(1))}) == set()
    assert rate_cards.missing({("42", later), ("42", OCTOBER)}) == {("42", 1)}
    in_force = rate_cards.at("42", later)
    assert in_force is not None
    assert (in_force.version, in_force.rate_card) == (2, rate_card())
    assert rate_cards.at("7", later) is None
