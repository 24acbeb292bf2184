"""Instants as people write them."""

import re
from datetime import UTC, datetime

import pytest

from quarterhour.model import fields, instants
from quarterhour.model.errors import InvalidError
from quarterhour.web import parameters

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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2015-06-30T23:59:60Z", datetime(2015, 6, 30, 23, 59, 59, tzinfo=UTC)),
        ("2017-01-01T00:59:60.5+01:00", datetime(2016, 12, 31, 23, 59, 59, 500_000, tzinfo=UTC)),
        ("2016-12-31t15:59:60-08:00", datetime(2016, 12, 31, 23, 59, 59, tzinfo=UTC)),
        ("2026-10-23T01:30:00+14:00", datetime(2026, 10, 22, 11, 30, tzinfo=UTC)),
        ("2026-10-23T01:30:00-14:00", datetime(2026, 10, 23, 15, 30, tzinfo=UTC)),
        ("2026-10-23 01:30:00.123456789012Z", datetime(2026, 10, 23, 1, 30, 0, 123_456, tzinfo=UTC)),
    ],
)
def test_each_instant_of_rfc_3339_that_exists_is_read(text: str, expected: datetime) -> None:
    assert fields.instant(text) == instants.instant(text) == expected


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("2026-10-05T24:00:00Z", "has the hour 24: the end of a day is 00:00:00 of the next one"),
        ("2016-12-31T12:59:60Z", "has the second 60, which only ends 30 June and 31 December, at 23:59:60 UTC"),
        ("2016-12-31T23:59:60+01:00", "has the second 60, which only ends 30 June and 31 December, at 23:59:60 UTC"),
        ("2016-11-30T23:59:60Z", "has the second 60, which only ends 30 June and 31 December, at 23:59:60 UTC"),
        ("2026-02-30T00:00:00Z", "names no day and time of the years 1 to 9999"),
        ("0001-01-01T00:00:00+14:00", "names no day and time of the years 1 to 9999"),
    ],
)
def test_an_instant_that_does_not_exist_is_refused_with_the_reason(text: str, why: str) -> None:
    with pytest.raises(instants.NoInstantError, match=f"^is '{re.escape(text)}', which {why}"):
        fields.instant(text)
    with pytest.raises(InvalidError, match=f"at is '{re.escape(text)}', which {why}"):
        parameters.parsed("at", text, fields.INSTANT, instants.instant)


@pytest.mark.parametrize("text", ["2026-10-23T01:30:00", "2026-10-23T01:30Z", "2026-10-23T01:30:000Z", "2026-10-23"])
def test_no_other_text_is_an_instant(text: str) -> None:
    assert fields.instant(text) is None
