"""Which version of a card is in force: the newest of those that are valid at the instant."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.documents.timeline import Start, Timeline, timeline_of, timeline_values, version_at, with_start
from quarterhour.rate_cards.plan import RateCards
from tests.support.builders import instants, utc
from tests.unit.rate_cards.builders import OCTOBER, card


def timeline(starts: list[datetime]) -> Timeline:
    """Return the timeline of a card whose versions, from 1 on, are valid from these instants."""
    made: Timeline = ()
    for version, valid_from in enumerate(starts, 1):
        made = with_start(made, Start(version, valid_from))
    return made


@given(starts=st.lists(instants, max_size=10), at=instants)
def test_the_newest_version_that_is_valid_is_in_force(starts: list[datetime], at: datetime) -> None:
    valid = [version for version, valid_from in enumerate(starts, 1) if valid_from <= at]
    assert version_at(timeline(starts), at) == max(valid, default=None)


@given(st.lists(instants, max_size=10))
def test_a_timeline_rises_and_comes_back_from_its_item(starts: list[datetime]) -> None:
    made = timeline(starts)
    assert [one.version for one in made] == sorted({one.version for one in made})
    assert [one.valid_from for one in made] == sorted({one.valid_from for one in made})
    assert timeline_of({"timeline": timeline_values(made)}) == made


@pytest.mark.parametrize(
    ("starts", "in_force"),
    [
        (["01:00", "03:00"], {"00:59": None, "01:00": 1, "02:59": 1, "03:00": 2}),
        # Written later for an earlier instant, it counts from there on, over what was to start behind it too.
        (["01:00", "03:00", "02:00"], {"01:59": 1, "02:00": 3, "03:30": 3}),
        (["01:00", "01:00"], {"01:00": 2}),
    ],
)
def test_of_versions_that_overlap_the_later_one_wins(starts: list[str], in_force: dict[str, int | None]) -> None:
    made = timeline([utc(one) for one in starts])
    assert {at: version_at(made, utc(at)) for at in in_force} == in_force


def test_cards_tell_which_of_their_versions_were_not_read_yet() -> None:
    later = OCTOBER + timedelta(days=20)
    cards = RateCards({"42": timeline([OCTOBER, later])}, {("42", 2): card()})
    assert cards.missing({("42", later), ("7", later), ("42", OCTOBER - timedelta(1))}) == set()
    assert cards.missing({("42", later), ("42", OCTOBER)}) == {("42", 1)}
    in_force = cards.at("42", later)
    assert in_force is not None
    assert (in_force.version, in_force.card) == (2, card())
    assert cards.at("7", later) is None
