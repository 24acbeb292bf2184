"""A delivery under death at every AWS call: its provider sends it again, and it is recorded once, or parked once."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour_tools.emulator.faults import Killed
from quarterhour_tools.emulator.http_api import Request
from tests.invariants.crashing import Crashes, Numbers
from tests.invariants.trial import Trial, on_trial
from tests.support.connections import SECRETS, delivered
from tests.support.events import Cloud, refund, sale

pytestmark = pytest.mark.slow


@pytest.fixture
def place() -> Iterator[Trial]:
    with on_trial(intake=True) as made:
        body = json.dumps({"provider": "generic", "secret": SECRETS[Provider.GENERIC]}).encode()
        put = Request("PUT", "/connections/shop", headers=(("content-type", "application/json"),), body=body)
        assert made.stack.request(put).status == 201
        yield made


def deliver(place: Trial, *events: Cloud) -> str | None:
    """Deliver events once; return what became of the delivery, ``None`` without an answer of 2xx."""
    for event in events:
        contents = place.sent.setdefault(event["id"], [])
        if event not in contents:
            contents.append(event)
    try:
        with place.faults.at_work():
            answer = place.stack.request(delivered(json.dumps(events).encode()))
    except Killed:
        place.stack.cold_start("connections")
        return None
    assert answer.status in {200, 503}, answer.body
    return str(answer.json()["delivery"]) if answer.status == 200 else None


def deliver_again(place: Trial, *events: Cloud) -> str:
    """Deliver events until they are answered 2xx, as a provider does."""
    place.faults.disarm()
    found = deliver(place, *events)
    assert found is not None
    return found


def parked(place: Trial) -> list[Any]:
    """Return the parked deliveries, as many as their connection counts."""
    found = place.all("/connections/shop/parked")
    assert place.read("/connections/shop")["state"]["parked"] == len(found)
    return found


def test_a_delivery_may_die_at_any_call(place: Trial, number: Numbers, crashes: Crashes) -> None:
    def events() -> list[Cloud]:
        n = number.last
        return [sale(f"s{n}", "10"), refund(f"r{n}", "-4", of=f"s{n}"), sale(f"bad{n}", "ten")]

    def prepare(_: Trial) -> None:
        number()

    def act(trial: Trial) -> None:
        deliver(trial, *events())

    def recover(trial: Trial) -> None:
        sold, refunded, _ = events()
        assert deliver_again(trial, *events()) == "parked"
        trial.accepted |= {one["id"]: one for one in (sold, refunded)}
        (one,) = parked(trial)
        assert trial.stack.request(Request("DELETE", f"/connections/shop/parked/{one['id']}")).status == 200
        assert parked(trial) == []

    crashes.at_each_later_call("a delivery", place, prepare, act, recover, loses_responses=True, first=0)


def test_a_delivery_of_one_event_takes_at_most_three_calls_beyond_those_of_recording(place: Trial) -> None:
    def calls(act: Callable[[], object]) -> int:
        before = len(place.faults.calls)
        with place.faults.at_work():
            act()
        return len(place.faults.calls) - before

    def post(id_: str) -> Request:
        body = json.dumps(sale(id_, "1")).encode()
        return Request("POST", "/events", headers=(("content-type", "application/cloudevents+json"),), body=body)

    def delivery(id_: str) -> Request:
        return delivered(json.dumps(sale(id_, "1")).encode())

    first = calls(lambda: place.stack.request(post("a"))), calls(lambda: place.stack.request(delivery("b")))
    later = calls(lambda: place.stack.request(post("c"))), calls(lambda: place.stack.request(delivery("d")))
    assert first[1] - first[0] == 3, "its connection, the secret, the count"
    assert later[1] - later[0] == 1, "the count"
