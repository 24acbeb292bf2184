"""The variables of a path and the query parameters."""

from datetime import UTC, date, datetime, timedelta
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import instants, texts
from quarterhour.model.errors import InvalidError
from quarterhour.web import parameters
from quarterhour.web.parameters import Parameters

UNITS = [timedelta(milliseconds=1), timedelta(minutes=5), timedelta(minutes=15), timedelta(hours=1), timedelta(days=1)]
any_instant = st.datetimes(datetime(1970, 1, 1), datetime(9998, 12, 30), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\ufffd"), min_size=1, max_size=30)
"""Texts in any form; U+FFFD is refused, as decoders put it in place of bytes that are not UTF-8."""


@given(any_instant, st.sampled_from(UNITS))
def test_rounding_up_returns_the_next_multiple(at: datetime, unit: timedelta) -> None:
    up = instants.rounded_up(at, unit)
    assert up - unit < at <= up
    assert (up - datetime(1970, 1, 1, tzinfo=UTC)) % unit == timedelta(0)


@given(any_instant, st.integers(-14 * 60, 14 * 60))
def test_an_instant_of_any_offset_is_parsed(at: datetime, minutes: int) -> None:
    sign, rest = ("-" if minutes < 0 else "+"), abs(minutes)
    local = (at + timedelta(minutes=minutes)).replace(tzinfo=None)
    if 1970 <= local.year <= 9998:
        text = f"{local.isoformat()}{sign}{rest // 60:02d}:{rest % 60:02d}"
        assert instants.instant(text) == at


@given(st.text())
def test_any_text_is_either_parsed_or_refused(text: str) -> None:
    for read in (instants.day, instants.midnight, instants.instant, instants.moment, parameters.name):
        try:
            value = read(text)
        except ValueError:
            continue
        assert value


def test_a_date_in_place_of_an_instant_is_its_midnight() -> None:
    assert instants.moment("2026-10-23") == datetime(2026, 10, 23, tzinfo=UTC)
    assert instants.moment("2026-10-23T02:00:00.5+02:00") == datetime(2026, 10, 23, 0, 0, 0, 500000, tzinfo=UTC)
    assert instants.day("2026-10-23") == date(2026, 10, 23)


def test_a_span_may_be_empty_but_not_reversed() -> None:
    query = Parameters("/", {"from": "2026-10-23", "to": "2026-10-23"})
    assert query.span(instants.DAY, instants.day) == (date(2026, 10, 23), date(2026, 10, 23))
    with pytest.raises(InvalidError) as refused:
        Parameters("/", {"from": "2026-10-24", "to": "2026-10-23"}).span(instants.DAY, instants.day)
    assert refused.value.problems[0].as_dict() == {
        "field": "from",
        "problem": "is after to",
        "expected": "an earlier one, or the same",
    }


def test_a_refusal_shows_what_was_sent_short_and_printable() -> None:
    with pytest.raises(InvalidError) as refused:
        Parameters("/", {"at": "\x00\u202e" * 100}).required("at", parameters.INSTANT, instants.instant)
    (problem,) = refused.value.problems
    assert problem.problem.isascii()
    assert problem.problem.isprintable()
    assert problem.problem.endswith("... (200 characters)")


@given(names)
def test_a_name_is_found_whether_it_was_encoded_once_or_twice(name: str) -> None:
    once, stored = quote(name, safe=""), texts.of_name(name)
    assert parameters.decoded(quote(once, safe="")) == parameters.spellings(quote(once, safe=""))[0] == stored
    assert stored in parameters.spellings(once)


def test_a_name_that_was_decoded_with_a_loss_is_refused() -> None:
    with pytest.raises(InvalidError, match="is not UTF-8"):
        parameters.decoded(quote(quote("a\ufffd")))


def test_a_name_without_percent_sign_has_one_spelling() -> None:
    assert parameters.spellings("United%20Kingdom") == ("United Kingdom",)
    assert parameters.spellings("a%252Fb") == ("a/b", "a%2Fb")
    assert parameters.decoded("2026-10-23T01%253A30%3A00Z") == "2026-10-23T01:30:00Z"


@given(names, names)
def test_the_path_of_a_route_is_encoded_once(agency: str, currency: str) -> None:
    event = {
        "routeKey": "GET /accounts/{agency}/{currency}/days",
        "rawPath": "ambiguous",
        "pathParameters": {"agency": agency, "currency": currency},
    }
    assert parameters.path_of(event) == f"/accounts/{quote(agency, safe='')}/{quote(currency, safe='')}/days"


def test_the_path_of_an_event_without_a_route_is_that_of_the_event() -> None:
    for event in ({"routeKey": "$default", "rawPath": "/x"}, {"rawPath": "/x"}):
        assert parameters.path_of(event) == "/x"
