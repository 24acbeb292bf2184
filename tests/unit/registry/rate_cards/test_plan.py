"""The version of a rate card in force: the newest of those valid at an instant."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.registry.documents.timeline import (
    Start,
    Timeline,
    timeline_of,
    timeline_values,
    version_at,
    with_start,
)
from quarterhour.registry.rate_cards.plan import InForce, RateCards, own_documents
from tests.support.builders import instants, utc
from tests.unit.registry.rate_cards.builders import OCTOBER, rate_card


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
    rate_cards = RateCards({OWN: timeline([OCTOBER, later])}, {(OWN, 2): rate_card()})
    assert rate_cards.missing({("42", later), ("7", later), ("42", OCTOBER - timedelta(1))}) == set()
    assert rate_cards.missing({("42", later), ("42", OCTOBER)}) == {(OWN, 1)}
    assert list(rate_cards.at("42", "", later)) == [InForce(OWN, 2, rate_card())]
    assert list(rate_cards.at("7", "", later)) == []


# ---------------------------------------------------------------- the rate cards of an agency, its group, and all

OWN = "rate-card:42"
OF_EU = "rate-card:group/eu"
DEFAULT = "rate-card:default"


def read(*documents: str, registered: Timeline = ()) -> RateCards:
    """Return rate cards that were read, each in force since October, with the registration of agency 42."""
    timelines = {document: (Start(1, OCTOBER),) for document in documents}
    versions = {(document, 1): rate_card() for document in documents}
    return RateCards({**timelines, **({"agency:42": registered} if registered else {})}, versions)


def documents(rate_cards: RateCards, at: datetime = OCTOBER, agency: str = "42") -> list[str]:
    return [one.document for one in rate_cards.at(agency, rate_cards.group(agency, at), at)]


def test_the_agencys_rate_card_precedes_its_groups_and_that_the_default_one() -> None:
    in_eu = (Start(1, OCTOBER, "eu"),)
    assert documents(read(DEFAULT, OF_EU, OWN, registered=in_eu)) == [OWN, OF_EU, DEFAULT]
    assert documents(read(DEFAULT, OF_EU, registered=in_eu)) == [OF_EU, DEFAULT]
    assert documents(read(DEFAULT, OF_EU)) == [DEFAULT], "the agency is in no group"
    assert documents(read(OF_EU)) == []
    assert documents(read(OWN, DEFAULT), OCTOBER - timedelta(1)) == [], "not in force yet"


def test_the_group_is_that_of_the_registration_in_force() -> None:
    moved = (Start(1, OCTOBER, "uk"), Start(2, OCTOBER + timedelta(1), "eu"), Start(3, OCTOBER + timedelta(2)))
    rate_cards = read(OF_EU, registered=moved)
    at = [OCTOBER + timedelta(days) for days in range(-1, 3)]
    assert [documents(rate_cards, one) for one in at] == [[], [], [OF_EU], []]
    assert [rate_cards.group("42", one) for one in at] == ["", "uk", "eu", ""]
    assert rate_cards.group_rate_cards({("42", one) for one in at}) == {"rate-card:group/uk", OF_EU}
    assert rate_cards.is_registered("42")
    assert not rate_cards.is_registered("7")


@pytest.mark.parametrize("agency", ["default", "*", "group/eu", "group/"])
def test_an_agency_with_the_name_of_rate_cards_of_others_has_none_of_its_own(agency: str) -> None:
    assert documents(read(OF_EU, DEFAULT), agency=agency) == [DEFAULT]
    assert own_documents(agency) == ()
