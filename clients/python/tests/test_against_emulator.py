"""The library and the real system: the functions of the emulator, over HTTP, with faults and deaths on the way."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from benchmarks.killing import measure, start_job
from clients.python.tests.sending_job import SOURCE
from clients.python.tests.support import URL, made
from quarterhour.model.clock import ManualClock
from quarterhour_tools.emulator.http_api import Request
from tests.support.served import served
from tests.support.system import START, World, opened

from quarterhour_client import (
    Client,
    Sender,
    Verdict,
    adjustment,
    event,
    order_item,
    payment,
    refund,
    sale,
    void,
)
from quarterhour_client.testing import FakeQuarterhour

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

EVENTS = 3000
KILLS = 20
ROOT = Path(__file__).parents[3]
ACCOUNT: dict[str, Any] = {"source": "shop", "agency": "42", "currency": "EUR"}


class Direct(httpx.BaseTransport):
    """Gives requests to a deployed system without a network."""

    def __init__(self, world: World) -> None:
        self._world = world

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        headers = (*request.headers.items(), ("host", "localhost"))
        path = request.url.raw_path.decode()
        answer = self._world.stack.request(Request(request.method, path, headers=headers, body=request.read()))
        return httpx.Response(answer.status, headers=dict(answer.headers), content=answer.body)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with opened() as world:
        yield world


def test_the_fake_gives_the_verdicts_of_the_system(world: World) -> None:
    calls = [
        [sale(**ACCOUNT, id="1", amount="10"), sale(**ACCOUNT, id="2", amount="0")],
        [sale(**ACCOUNT, id="1", amount="10.00"), sale(**ACCOUNT, id="1", amount="11")],
        [sale(**ACCOUNT, id="1", amount="12")],
        [event(source="shop", id="3", type="sale.recorded", agency="42", data={"amount": "-1", "currency": "EUR"})],
        [event(source="shop", id="4", type="sale.refunded", agency="42", data={"amount": "1", "currency": "EUR"})],
        [event(source="shop", id="5", type="sale.lost", agency="42", data={"amount": "1", "currency": "EUR"})],
        [refund(**ACCOUNT, id="6", amount="-1", refers_to="1"), refund(**ACCOUNT, id="7", amount="-1", refers_to="8")],
        [refund(**ACCOUNT, id="7", amount="-1", refers_to="8"), refund(**ACCOUNT, id="7", amount="-2", refers_to="8")],
        [sale(**ACCOUNT, id="8", amount="5"), void(**ACCOUNT, id="9", refers_to="8", reason="twice")],
        [void(**ACCOUNT, id="9", refers_to="8", reason="twice")],
        [
            payment(**ACCOUNT, id="10", amount="-3"),
            adjustment(**ACCOUNT, id="11", amount="0", commission="1", kind="fee"),
        ],
        [void(**ACCOUNT, id="12", refers_to="13", reason="returned")],
        [sale(**ACCOUNT, id="14", amount="9"), refund(**ACCOUNT, id="15", amount="-9", refers_to="14")],
        [
            void(**ACCOUNT, id="16", refers_to="15", reason="returned"),
            refund(**ACCOUNT, id="17", amount="-9", refers_to="14"),
        ],
    ]
    found = []
    for transport in (Direct(world), FakeQuarterhour()):
        sender = Sender(URL, transport=transport)
        found.append([[(one.id, one.verdict, one.held) for one in sender.send(events)] for events in calls])
    assert found[0] == found[1]
    assert {verdict for call in found[0] for _, verdict, _ in call} == {*Verdict} - {Verdict.UNAVAILABLE}


def test_every_field_of_the_helpers_is_one_that_the_system_takes(world: World) -> None:
    more: dict[str, Any] = {"time": START, "extra": {"gift": True}, "attributes": {"traceparent": "00-4bf9"}}
    goods: dict[str, Any] = {"line": 1, "product": "TEA", "quantity": "2.5", "unit_price": 4, "location": "GB#London"}
    correction: dict[str, Any] = {"refers_to": "f1", "reason": "broken"}
    results = Sender(URL, transport=Direct(world)).send(
        [
            sale(**ACCOUNT, id="f1", amount=10, customer="ann", order_id="7", category="tea", **goods, **more),
            refund(**ACCOUNT, id="f2", amount="-1", refers_to_source="shop", **correction, **more),
            refund(**ACCOUNT, id="f3", amount="-1", commission_rate="0.1", customer="ann", order_id="7"),
            adjustment(**ACCOUNT, id="f4", amount=1, commission_rate="0.1", kind="fee", **correction, **more),
            payment(**ACCOUNT, id="f5", amount=1, statement="S-1", reason="transfer", **more),
            void(**ACCOUNT, id="f6", **correction, **more),
        ]
    )
    assert [(one.id, one.verdict, one.problems) for one in results] == [
        (f"f{number}", Verdict.RECORDED, ()) for number in range(1, 7)
    ]
    assert {one.receipt is not None for one in results} == {True}


def test_an_order_is_created_and_paid(world: World) -> None:
    sender = Sender(URL, transport=Direct(world))
    item = order_item(agency="42", product="TEA", amount="9.50", commission_rate="0.1", quantity=2, unit_price="4.75")
    for _ in range(2):
        created = sender.create_order("o/1", [item], currency="EUR", customer="ann", placed_at=START)
        assert (created["status"], created["total"]) == ("open", "9.50")
    for _ in range(2):
        assert sender.change_order("o/1", from_status="open", to_status="paid")["status"] == "paid"


def test_two_processes_share_a_spool(tmp_path: Path) -> None:
    with served(ManualClock(START), {"Stage": "shared"}) as (server, world):
        spool = tmp_path / "sales.spool"
        jobs = [start_job(server.url, spool, 400, seed) for seed in (1, 2)]
        assert [job.wait(120) for job in jobs] == [0, 0]
        with server.turns.taken():
            assert sorted(_recorded(world), key=int) == [str(number) for number in range(400)]


def test_faults_and_kills_lose_and_double_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    """5 % of the requests fail, and the sender is killed 20 times while requests are under way."""
    outcome = measure(EVENTS, KILLS)
    capfd.readouterr()
    assert (outcome.recorded, outcome.lost, outcome.doubled, outcome.exact) == (EVENTS, 0, 0, True)
    assert outcome.faults > 0
    assert outcome.duplicates > 0


def test_the_client_says_what_the_system_says_of_each_event(world: World, tmp_path: Path) -> None:
    with Client(URL, tmp_path / "sales.spool", transport=Direct(world)) as client:
        results = client.results()
        client.record(made(1), sale(**ACCOUNT, id="closed", amount="1", line="x" * 200))
        assert {one.id: one.verdict for one in results} == {"order-1:1": Verdict.RECORDED, "closed": Verdict.RECORDED}
        client.record(made(1, "9"))
        client.flush(30)
        (parked,) = client.parked()
    assert (parked.verdict, parked.problems[0].problem) == (
        Verdict.CONFLICT,
        "was recorded before with other content",
    )


def _recorded(world: World) -> list[str]:
    """Return the ids of all events of the job that are in the ledger."""
    span = {"from_": START.isoformat(), "to": START.replace(hour=3).isoformat()}
    return [one["id"] for one in world.all("/events", **span, source=SOURCE, limit=1000)]
