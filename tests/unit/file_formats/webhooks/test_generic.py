"""Webhooks whose payload is CloudEvents."""

import pytest

from quarterhour.file_formats.webhooks.delivery import AgencyRule, Delivery, Mapped, MapSettings, Provider
from quarterhour.file_formats.webhooks.maps import events_of

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


def test_the_agency_of_a_line_is_fixed_or_a_text_or_a_row_of_a_table() -> None:
    """A text without a row has none."""
    assert AgencyRule(fixed="42").agency_of("Acme") == "42"
    assert AgencyRule(field="vendor").agency_of("Acme") == "Acme"
    assert AgencyRule(field="vendor").agency_of("") is None
    by_table = AgencyRule(field="vendor", table={"Acme": "42"})
    assert by_table.agency_of("Acme") == "42"
    assert by_table.agency_of("Other") is None
