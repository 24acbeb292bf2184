"""Notifications under death at every AWS call: nothing is lost, and the order is kept, to every subscription."""

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta

import pytest

from quarterhour.notifications.notification import Logged
from quarterhour.notifications.subscription import Attempt, DeliveryOutcome
from quarterhour.notifications.webhook import WebhookSender
from quarterhour_tools.emulator.engines import EMBEDDED
from quarterhour_tools.emulator.faults import FaultKind, Faults, Spec
from quarterhour_tools.emulator.http_api import Request
from quarterhour_tools.emulator.stack import DiedError
from tests.invariants.crashing import Record, crash_points
from tests.support.events import by_sign
from tests.support.requests import events_request
from tests.support.system import World, opened

HOOK = "https://hooks.shop.com/hook"
OTHER = "https://hooks.shop.com/other"
REGISTERED = "43"
PARAMETERS: dict[str, str | int] = {"Notifications": "webhooks", "agency_policy": "registered"}


class Receivers:
    """What two receivers got, by address: the places of notifications in the log. One fails every third time."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.got: dict[str, list[str]] = {HOOK: [], OTHER: []}
        self.ids: dict[str, set[str]] = {HOOK: set(), OTHER: set()}
        self.attempts = 0
        patch.setattr(WebhookSender, "send", lambda _, address, logged, secrets: self.take(address, logged, secrets))

    def take(self, address: str, logged: Logged, secrets: list[str]) -> Attempt:
        """Take a notification, or fail."""
        assert secrets, "each delivery is signed"
        self.attempts += 1
        if address == OTHER and self.attempts % 3 == 0:
            return Attempt(DeliveryOutcome.BAD_STATUS, 500)
        self.got[address].append(logged.place)
        self.ids[address].add(logged.notification.id)
        return Attempt(DeliveryOutcome.DELIVERED, 200)


@pytest.fixture
def receivers(monkeypatch: pytest.MonkeyPatch) -> Receivers:
    return Receivers(monkeypatch)


@pytest.fixture
def place(engine: str) -> Iterator[tuple[World, Faults]]:
    with Faults(Spec.parse("")).installed() as faults, opened(PARAMETERS, engine=engine, faults=faults) as world:
        yield world, faults


def request(world: World, method: str, path: str, body: dict[str, object]) -> int:
    """Send a request to the API; return the status."""
    headers = (("content-type", "application/json"), ("host", "localhost"))
    return world.stack.request(Request(method, path, headers=headers, body=json.dumps(body).encode())).status


def happen(world: World, number: int) -> None:
    """Let a run be sealed over a sale, and an event of an agency that is not registered be held."""
    for agency in ("42", REGISTERED):
        event = by_sign(f"n{number}-{agency}", "10", agency=agency, currency="GBP", commission_rate="0.1")
        assert world.stack.request(events_request(event)).status == 202
    world.clock.advance(timedelta(minutes=31))
    world.report()


def notify(world: World) -> None:
    """Deliver the streams and the queue, and let the schedule fire; whatever dies, dies."""
    world.drain()
    with suppress(DiedError):
        world.stack.invoke("notify", {})


@pytest.mark.slow
def test_nothing_is_lost_and_the_order_is_kept_whatever_call_a_function_dies_at(
    receivers: Receivers, place: tuple[World, Faults], record_property: Record
) -> None:
    world, faults = place
    for name, address in (("erp", HOOK), ("other", OTHER)):
        assert request(world, "PUT", f"/subscriptions/{name}", {"address": address}) == 201
    registration = {"seen": 0, "content": {"legal_name": "Quay Records Ltd", "country": "GB"}}
    assert request(world, "PUT", f"/agencies/{REGISTERED}", registration) == 201

    def recover() -> None:
        # A lease ends, a message comes again, and a pause after a failure is over.
        for _ in range(4):
            world.clock.advance(timedelta(hours=1))
            notify(world)

    happen(world, 0)
    before = len(faults.calls)
    notify(world)
    calls = len(faults.calls) - before
    recover()
    points = crash_points(range(calls), loses_responses=True)
    if world.stack.engine.name != EMBEDDED:
        points = [*points[4:-1:5], points[-1]]
    for number, (call, fault) in enumerate(points, 1):
        happen(world, number)
        faults.arm(fault, call)
        notify(world)
        faults.disarm()
        recover()
    assert len(faults.struck) >= len(points) * 0.9, "the crash points were reached"
    assert {kind for _, kind in faults.struck} == {FaultKind.KILL_BEFORE, FaultKind.KILL_AFTER, FaultKind.RESET_AFTER}
    for address in (HOOK, OTHER):
        got = receivers.got[address]
        assert got == sorted(got), "repeated ones come at once, never later"
        assert receivers.ids[address] == receivers.ids[HOOK]
    held = len(points) + 1
    assert len(receivers.ids[HOOK]) >= 2 * held, "each held event and each sealed run, once"
    repeated = len(receivers.got[HOOK]) - len(set(receivers.got[HOOK]))
    assert len(set(receivers.got[HOOK])) == len(receivers.ids[HOOK]), "each is in the log once"
    record_property("notifications", f"{len(points)} crash points tried, 0 violations, {repeated} deliveries repeated")
