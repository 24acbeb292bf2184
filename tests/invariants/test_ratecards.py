"""Rate cards under crashes: an event pays by the card that its claim met, once, and a version is written once."""

import json
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from itertools import count

import pytest

from quarterhour.ledger.explanation import commission_matches
from quarterhour_tools.emulator.faults import Killed
from quarterhour_tools.emulator.http_api import Request
from tests.invariants.crashing import Record, each_call
from tests.invariants.trial import Trial, on_trial
from tests.support.events import refund, sale

CARD = "/documents/rate-card:42"
HEADERS = (("content-type", "application/json"),)


class Office:
    """Whoever writes the card of agency 42, and sees each version that they have written."""

    def __init__(self) -> None:
        self.seen = 0

    def write(self, place: Trial) -> None:
        """Write the next version, or try to."""
        rules = [{"percent": str(self.seen % 7), "currency": "GBP", "fixed": f"0.{self.seen:03d}", "maximum": "3"}]
        card = {"valid_from": "2026-10-01T00:00:00Z", "rules": rules}
        body = json.dumps({"seen": self.seen, "content": card}).encode()
        answer = place.stack.request(Request("PUT", CARD, headers=HEADERS, body=body))
        assert answer.status in {200, 201}, answer.body
        assert answer.json()["version"] == self.seen + 1
        self.seen += 1


@pytest.fixture
def place() -> Iterator[Trial]:
    with on_trial() as made:
        yield made


def test_an_ingest_may_die_at_any_call_while_the_card_changes(place: Trial, record_property: Record) -> None:
    office, numbers = Office(), count()

    def prepare(place: Trial) -> None:
        office.write(place)
        place.stack.cold_start("ingest")

    def act(place: Trial) -> None:
        n = next(numbers)
        place.send([sale(f"s{n}", "10.00"), sale(f"t{n}", "0.07"), *(refund(f"r{n}-{i}", "-3", f"s{n}") for i in "ab")])

    def recover(place: Trial) -> None:
        office.write(place)
        place.send_again()

    points = each_call(place, prepare, act, recover)
    record_property("ingest by cards", f"{points} crash points tried, 0 violations")
    items = place.ledger()
    assert {item["terms"].partition(" ")[0] for item in items} == {"card", "sale"}
    assert [item["id"] for item in items if not commission_matches(item)] == []
    left = {item["id"]: Decimal(item["commission"]) for item in items if "refers_to" not in item}
    for item in items:
        if "refers_to" in item:
            left[item["refers_to"]] += Decimal(item["commission"])
            assert left[item["refers_to"]] >= 0, "refunds took back more than their sale was charged"


def test_a_writer_may_die_at_any_call_and_writes_each_version_once(place: Trial, record_property: Record) -> None:
    office, wanted = Office(), count(1)

    def act(place: Trial) -> None:
        with suppress(Killed), place.faults.at_work():
            office.write(place)

    def recover(place: Trial) -> None:
        if office.seen < next(wanted):
            place.stack.cold_start("documents")
            office.write(place)

    points = each_call(place, lambda _: None, act, recover)
    record_property("document", f"{points} crash points tried, 0 violations")
    versions = [item["sk"]["S"] for item in place.entities() if item["pk"]["S"] == "DOCUMENT#rate-card:42"]
    assert sorted(versions) == ["metadata", "v_0", *(f"v_{version:08d}" for version in range(1, office.seen + 1))]
