"""Webhooks whose payload is CloudEvents."""

from decimal import Decimal

import pytest

from quarterhour.file_formats.webhooks.delivery import AgencyRule, Delivery, Excluded, Mapped, MapSettings, Provider
from quarterhour.file_formats.webhooks.maps import events_of
from quarterhour.file_formats.webhooks.payload import PayloadError, agency_in
from quarterhour.model import exact_json

EVENT = {"specversion": "1.0", "id": "a-1", "source": "shop", "type": "sale.recorded", "subject": "42"}


def mapped(payload: object, **settings: str) -> Mapped:
    """Return what the map makes of a payload."""
    return events_of(Delivery(Provider.GENERIC, "", payload, MapSettings(**settings)))  # type: ignore[arg-type]


def test_a_cloud_event_and_a_list_of_them_stay_as_they_are() -> None:
    """Nothing is added."""
    assert mapped(EVENT) == Mapped([EVENT])
    assert mapped([EVENT, {**EVENT, "id": "a-2"}]).events == [EVENT, {**EVENT, "id": "a-2"}]


def test_a_connection_with_a_source_gives_it_to_its_events() -> None:
    """So no sender takes the identities of another."""
    assert mapped(EVENT, source="partner").events == [{**EVENT, "source": "partner"}]


@pytest.mark.parametrize("payload", [None, [], {}, "text", [EVENT, 5], [EVENT] * 501, {"id": 1}])
def test_any_other_payload_is_a_problem(payload: object) -> None:
    """It is parked as a whole."""
    assert mapped(payload) == Mapped(problem="the payload is not a CloudEvent, or a list of 1 to 500")


def test_the_agency_of_a_line_is_fixed_or_the_text_of_the_first_place_that_has_one() -> None:
    assert agency_in(AgencyRule(fixed="42"), {"vendor": "Acme"}) == "42"
    by_field = AgencyRule(field="vendor")
    assert agency_in(by_field, {"vendor": " "}, {"vendor": "Acme"}) == "Acme"
    assert agency_in(by_field, {}, linked=True) == ""
    with pytest.raises(PayloadError, match="there is no vendor"):
        agency_in(by_field, {"vendor": ""})


MAP = """
[payload]
items = "lines"

[time]
formats = ["iso"]

[[exclude]]
rule = "samples"
when = { column = "is_sample", equals = "true" }

[[event]]
id = "{payload.id}:{id}"
source = "erp"
type = [{ amount = "< 0", is = "sale.refunded" }, { is = "sale.recorded" }]
subject = "{partner.code}"
time = "{booked}"

[event.data]
amount = "{pieces} * {price}"
currency = "{currency}"
order_id = "{number}"
"""
PAYLOAD = """{"id": 9007199254740993, "number": "A-1", "booked": "2026-10-01T10:00:00+02:00", "currency": "eur",
  "lines": [
  {"id": 1, "partner": {"code": "42"}, "pieces": 3, "price": 1.10},
  {"id": 2, "partner": {"code": "43"}, "pieces": -1, "price": "0.10"},
  {"id": 3, "partner": {"code": "43"}, "pieces": 1, "price": 5, "is_sample": true}]}"""


def test_a_map_in_the_language_of_files_reads_the_items_of_a_payload() -> None:
    """Numbers are exact, and a column is looked up in the item and then in the payload."""
    found = mapped(exact_json.parse(PAYLOAD), map=MAP)
    assert (found.problem, found.excluded) == (None, [Excluded("samples", {"EUR": Decimal(5)})])
    first, second = found.events
    assert first == {
        "specversion": "1.0",
        "id": "9007199254740993:1",
        "source": "erp",
        "type": "sale.recorded",
        "subject": "42",
        "time": "2026-10-01T08:00:00Z",
        "data": {"amount": "3.30", "currency": "EUR", "order_id": "A-1"},
    }
    assert (second["type"], second["data"]["amount"]) == ("sale.refunded", "-0.10")


@pytest.mark.parametrize(
    ("payload", "map_", "problem"),
    [
        ({"lines": [{"id": 1}]}, MAP, "item 1: event[1].data.amount: pieces is empty"),
        (5, MAP.replace('items = "lines"', ""), "the payload is a list of 1, not a list of objects"),
        ({"lines": 5}, MAP, "lines is 5, not a list of objects"),
        ({}, "no map", "the map of the connection: map: is not TOML"),
        ({}, f"{MAP}[settings]\nagency = 'whose'", "the map of the connection: lacks agency in [values]"),
    ],
)
def test_what_a_map_cannot_read_is_a_problem(payload: object, map_: str, problem: str) -> None:
    """It is parked until the map is repaired."""
    assert str(mapped(payload, map=map_).problem).startswith(problem)
