"""The sender without a spool: verdicts within a deadline, and orders."""

from datetime import datetime, timezone

import pytest
from clients.python.tests.support import URL, made

from quarterhour_client import EventError, RefusedError, Sender, UnansweredError, Verdict, order_item, sender
from quarterhour_client.testing import Drops, Fails, FakeQuarterhour

pytestmark = pytest.mark.usefixtures("fast")


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sender, "pause", lambda *_: 0.01)


def test_events_are_sent_in_batches_and_each_has_its_verdict_in_order() -> None:
    fake = FakeQuarterhour()
    fake.answer_with("shop", "order-7:1", "rejected")
    with Sender(URL, transport=fake) as direct:
        found = direct.send([made(number) for number in (*range(600), 0)])
    assert [one.verdict for one in found[:8]] == [Verdict.RECORDED] * 7 + [Verdict.REJECTED]
    assert (found[-1].id, found[-1].verdict, fake.batches) == ("order-0:1", Verdict.DUPLICATE, [500, 101])
    assert direct.send([]) == []


def test_what_is_unavailable_is_sent_again_within_the_deadline() -> None:
    fake = FakeQuarterhour()
    fake.answer_with("shop", "order-1:1", "unavailable")
    fake.fail(Drops(), Fails(503))
    found = Sender(URL, transport=fake).send([made(0), made(1)], within=30)
    assert [one.verdict for one in found] == [Verdict.RECORDED, Verdict.RECORDED]


def test_after_the_deadline_the_verdict_is_unavailable_with_the_reason() -> None:
    fake = FakeQuarterhour()
    fake.answer_with("shop", "order-1:1", "unavailable", times=10_000)
    found = Sender(URL, transport=fake).send([made(0), made(1)], within=0.2)
    assert [one.verdict for one in found] == [Verdict.RECORDED, Verdict.UNAVAILABLE]
    fake.fail(*[Fails(503)] * 10_000)
    found = Sender(URL, transport=fake).send([made(number) for number in range(1001)], within=0.2)
    assert {one.verdict for one in found} == {Verdict.UNAVAILABLE}
    assert "503" in found[0].problems[0].problem


def test_a_sender_without_access_raises_at_once() -> None:
    fake = FakeQuarterhour()
    fake.fail(Fails(403))
    with pytest.raises(RefusedError, match="POST /events was answered with 403"):
        Sender(URL, transport=fake).send([made(0)])
    assert len(fake.requests) == 1


def test_an_order_is_created_once_and_paid_once_though_answers_are_lost() -> None:
    fake = FakeQuarterhour()
    direct = Sender(URL, transport=fake)
    items = [order_item(agency="42", product="TEA", amount="129.90"), order_item(agency="7", product="CUP", amount=8)]
    at = datetime(2026, 10, 23, 1, 29, tzinfo=timezone.utc)
    fake.fail(Drops(after=True), Fails(503, retry_after=0))
    created = direct.create_order("10/1", items, currency="GBP", customer="ann", placed_at=at)
    assert (created["status"], created["total"], created["lines"]) == ("open", "137.90", 2)
    fake.fail(Drops(after=True))
    assert direct.change_order("10/1", from_status="open", to_status="paid")["status"] == "paid"
    assert fake.requests[-1].url.raw_path == b"/orders/10%252F1/status"
    with pytest.raises(RefusedError, match="other content"):
        direct.create_order("10/1", items[:1], currency="GBP")
    with pytest.raises(RefusedError, match="409"):
        direct.change_order("10/1", from_status="open", to_status="cancelled")


def test_an_order_without_an_answer_says_that_it_can_be_sent_again() -> None:
    fake = FakeQuarterhour()
    fake.fail(*[Drops()] * 10_000)
    with pytest.raises(UnansweredError, match="the same request again is safe"):
        Sender(URL, transport=fake).create_order("1", [], currency="GBP", within=0.1)
    with pytest.raises(EventError, match="time zone"):
        Sender(URL, transport=fake).create_order("1", [], currency="GBP", placed_at=datetime(2026, 1, 1))  # noqa: DTZ001 - what is refused
