"""Rate cards under crashes: an event pays once, by the rate card of its claim, and a version is written once."""

import json
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from itertools import count

import pytest

from quarterhour.ledger.reading.explanation import commission_matches
from quarterhour_tools.emulator.faults import Killed
from quarterhour_tools.emulator.http_api import Request
from tests.invariants.crashing import Crashes
from tests.invariants.trial import Trial, on_trial
from tests.support.events import refund, sale

RATE_CARD = "/documents/rate-card:42"
HEADERS = (("content-type", "application/json"),)


class Office:
    """The author of the rate card of agency 42, who sees each version that was written."""

    def __init__(self) -> None:
        self.seen = 0

    def write(self, place: Trial) -> None:
        """Write the next version, or try to."""
        rules = [
            {
                "currency": "GBP",
                "charges": [
                    {"name": "commission", "percent": str(self.seen % 7), "fixed": f"0.{self.seen:03d}", "maximum": "3"}
                ],
            }
        ]
        rate_card = {"valid_from": "2026-10-01T00:00:00Z", "rules": rules}
        body = json.dumps({"seen": self.seen, "content": rate_card}).encode()
        answer = place.stack.request(Request("PUT", RATE_CARD, headers=HEADERS, body=body))
        assert answer.status in {200, 201}, answer.body
        assert answer.json()["version"] == self.seen + 1
        self.seen += 1


@pytest.fixture
def place() -> Iterator[Trial]:
    with on_trial() as made:
        yield made


def test_an_ingest_may_die_at_any_call_while_the_rate_card_changes(place: Trial, crashes: Crashes) -> None:
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

    crashes.at_each_call("ingest by rate cards", place, prepare, act, recover)
    items = place.ledger()
    assert {item["terms"].partition(" ")[0] for item in items} == {"card", "sale"}
    assert [item["id"] for item in items if not commission_matches(item)] == []
    left = {item["id"]: Decimal(item["commission"]) for item in items if "refers_to" not in item}
    for item in items:
        if "refers_to" in item:
            left[item["refers_to"]] += Decimal(item["commission"])
            assert left[item["refers_to"]] >= 0, "refunds took back more than their sale was charged"


def test_a_writer_may_die_at_any_call_and_writes_each_version_once(place: Trial, crashes: Crashes) -> None:
    office, expected = Office(), count(1)

    def act(place: Trial) -> None:
        with suppress(Killed), place.faults.at_work():
            office.write(place)

    def recover(place: Trial) -> None:
        if office.seen < next(expected):
            place.stack.cold_start("write")
            office.write(place)

    crashes.at_each_call("document", place, lambda _: None, act, recover)
    versions = [item["sk"]["S"] for item in place.entities() if item["pk"]["S"] == "DOCUMENT#rate-card:42"]
    assert sorted(versions) == ["metadata", "v_0", *(f"v_{version:08d}" for version in range(1, office.seen + 1))]
