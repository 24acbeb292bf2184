"""Delivery: retries, halves, and what is repeated."""

from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from clients.python.tests.support import made, numbered

from quarterhour_client import Verdict
from quarterhour_client.delivery import Delivery
from quarterhour_client.plan import Answer, Refused, Waiting, request_body
from quarterhour_client.testing import Drops, Fails, FakeQuarterhour


class Line:
    """A delivery to a fake server, whose pauses are noted and take no time."""

    def __init__(self, most_pauses: int = 20) -> None:
        self.fake = FakeQuarterhour()
        self.pauses: list[float] = []
        self.sizes: list[int] = []
        self.most_pauses = most_pauses
        self.delivery = Delivery(self.post, self.wait, lambda: 1.0)

    def post(self, events: Sequence[Waiting]) -> Answer:
        self.sizes.append(len(events))
        request = httpx.Request("POST", "https://api.example.com/events", content=request_body(events))
        response = self.fake.handle_request(request)
        return Answer(response.status_code, dict(response.headers), response.content)

    def wait(self, seconds: float) -> bool:
        self.pauses.append(seconds)
        return len(self.pauses) < self.most_pauses

    def deliver(self, count: int) -> dict[str, Verdict]:
        events = numbered([made(number) for number in range(count)])
        found = [pair for pairs in self.delivery.deliver(events) for pair in pairs]
        return {one.id: result.verdict for one, result in found}


@pytest.mark.parametrize("fault", [Fails(503), Fails(500), Fails(429), Fails(200), Drops(), Drops(timeout=True)])
def test_a_request_without_an_answer_is_repeated_with_growing_pauses(fault: Any) -> None:
    line = Line()
    line.fake.fail(fault, fault, fault)
    assert set(line.deliver(3).values()) == {Verdict.RECORDED}
    assert line.pauses == [0.5, 1.0, 2.0]
    assert line.delivery.trouble is None


def test_a_request_whose_answer_is_lost_gives_duplicates() -> None:
    line = Line()
    line.fake.fail(Drops(after=True))
    assert set(line.deliver(3).values()) == {Verdict.DUPLICATE}
    assert len(line.fake.recorded) == 3


def test_nothing_is_sent_without_events() -> None:
    line = Line()
    assert line.deliver(0) == {}
    assert line.sizes == []


def test_retry_after_is_waited_for() -> None:
    line = Line()
    line.fake.fail(Fails(503, retry_after=9))
    line.deliver(1)
    assert line.pauses == [9.5]


def test_only_what_is_unavailable_is_sent_again() -> None:
    line = Line()
    line.fake.answer_with("shop", "order-1:1", "unavailable", times=2)
    line.fake.answer_with("shop", "order-2:1", "rejected")
    found = line.deliver(3)
    assert (line.sizes, line.pauses) == ([3, 1, 1], [1.5, 2.0])
    assert found == {
        "order-0:1": Verdict.RECORDED, "order-1:1": Verdict.RECORDED, "order-2:1": Verdict.REJECTED
    }  # fmt: skip


def test_a_request_that_is_too_large_is_sent_in_halves() -> None:
    line = Line()
    line.fake.fail(Fails(413), None, Fails(413))
    found = line.deliver(4)
    assert (line.sizes, line.pauses) == ([4, 2, 2, 1, 1], [])
    assert set(found.values()) == {Verdict.RECORDED}


def test_an_event_that_is_too_large_alone_is_rejected_and_the_others_are_recorded() -> None:
    line = Line()
    line.fake.fail(Fails(413), Fails(413))
    assert line.deliver(2) == {"order-0:1": Verdict.REJECTED, "order-1:1": Verdict.RECORDED}


def test_a_sender_without_access_loses_nothing_and_says_why() -> None:
    line = Line(most_pauses=4)
    line.fake.fail(*[Fails(403)] * 9)
    assert line.deliver(2) == {}
    assert line.delivery.trouble == Refused(403, 'was answered with 403: {"message":"made to fail"}')


def test_an_error_of_the_users_own_signing_is_a_trouble_and_ends_nothing() -> None:
    line = Line()
    posts = iter([KeyError("no credentials")])

    def post(events: Sequence[Waiting]) -> Answer:
        for error in posts:
            raise error
        return line.post(events)

    line.delivery = Delivery(post, line.wait, lambda: 1.0)
    assert set(line.deliver(1).values()) == {Verdict.RECORDED}


def test_delivery_ends_when_it_is_to_stop() -> None:
    line = Line(most_pauses=1)
    line.fake.fail(Fails(503), Fails(503))
    assert line.deliver(1) == {}
    assert line.sizes == [1]
