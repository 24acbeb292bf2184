"""Instants as people write them."""

from datetime import UTC, datetime

import pytest

from quarterhour.model import fields, instants

NO_OFFSETS = ["+00:60", "-00:60", "+05:99", "+24:00", "-24:00"]
LARGEST_OFFSETS = {
    "+23:59": datetime(2026, 10, 22, 1, 31, tzinfo=UTC),
    "-23:59": datetime(2026, 10, 24, 1, 29, tzinfo=UTC),
}


@pytest.mark.parametrize("offset", NO_OFFSETS)
def test_a_query_instant_has_an_offset_below_24_hours_and_60_minutes(offset: str) -> None:
    for read in (instants.instant, instants.moment):
        with pytest.raises(ValueError, match=r"^2026-10-23T01:30:00"):
            read(f"2026-10-23T01:30:00{offset}")


@pytest.mark.parametrize("offset", NO_OFFSETS)
def test_an_instant_in_a_body_has_an_offset_below_24_hours_and_60_minutes(offset: str) -> None:
    assert fields.instant(f"2026-10-23T01:30:00{offset}") is None


@pytest.mark.parametrize(("offset", "expected"), LARGEST_OFFSETS.items())
def test_the_largest_offsets_are_23_hours_and_59_minutes(offset: str, expected: datetime) -> None:
    for read in (instants.instant, instants.moment, fields.instant):
        assert read(f"2026-10-23T01:30:00{offset}") == expected
