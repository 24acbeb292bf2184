"""The client: what is recorded arrives once, whatever fails on the way."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from clients.python.tests.support import URL, Faulty, made

from quarterhour_client import (
    Bearer,
    Client,
    ClosedError,
    Problem,
    Result,
    SpoolCorruptError,
    SpoolFullError,
    Verdict,
    refund,
    sale,
)
from quarterhour_client.spool import Spool
from quarterhour_client.testing import Drops, Fails, FakeQuarterhour

pytestmark = pytest.mark.usefixtures("fast")
Opened = Callable[..., Client]


@pytest.fixture
def fake() -> FakeQuarterhour:
    return FakeQuarterhour()


@pytest.fixture
def opened(path: Path, fake: FakeQuarterhour) -> Iterator[Opened]:
    clients: list[Client] = []

    def opened(**settings: Any) -> Client:
        clients.append(Client(URL, path, **{"transport": fake, "linger": 0.02, **settings}))
        return clients[-1]

    yield opened
    for client in clients:
        client.close(0)


def test_what_is_recorded_is_sent_and_leaves_the_spool(opened: Opened, fake: FakeQuarterhour) -> None:
    client = opened()
    assert client.record(made(1), made(2)) == 2
    assert client.flush(60) == 0
    assert list(fake.recorded) == [("shop", "order-1:1"), ("shop", "order-2:1")]
    assert client.waiting() == 0
    assert client.record(made(1)) == 1  # the server knows it
    assert (client.flush(60), len(fake.recorded)) == (0, 2)


def test_events_that_come_within_the_linger_are_one_batch(opened: Opened, fake: FakeQuarterhour) -> None:
    client = opened(linger=0.3)
    for number in range(5):
        client.record(made(number))
    assert client.waiting() == 5
    while client.waiting():
        client._worker.wait_for_change(0.1)
    assert fake.batches == [5]


def test_a_full_batch_does_not_linger_and_no_batch_is_larger(opened: Opened, fake: FakeQuarterhour) -> None:
    client = opened(linger=60, batch=10, connections=1)
    client.record(*[made(number) for number in range(25)])
    while client.waiting() > 5:
        client._worker.wait_for_change(0.1)
    assert (client.flush(60), fake.batches) == (0, [10, 10, 5])


def test_flush_says_how_much_is_left_and_trouble_says_why(opened: Opened, fake: FakeQuarterhour) -> None:
    fake.fail(*[Fails(403)] * 10_000)
    client = opened()
    client.record(made(1), made(2))
    assert client.flush(0.2) == 2
    assert client.trouble == 'was answered with 403: {"message":"made to fail"}'


def test_faults_lose_and_double_nothing(opened: Opened, fake: FakeQuarterhour) -> None:
    client = opened(transport=Faulty(fake, 0.4, seed=1), batch=20, connections=4)
    for number in range(0, 600, 7):
        client.record(*[made(one) for one in range(number, min(600, number + 7))])
    assert client.flush(30) == 0
    assert set(fake.recorded) == {("shop", f"order-{number}:1") for number in range(600)}


def test_each_result_is_reported_to_the_callback_and_to_the_iterator(opened: Opened, fake: FakeQuarterhour) -> None:
    called: list[Result] = []
    client = opened(on_result=called.append)
    fake.answer_with("shop", "order-2:1", "rejected", errors=[{"field": "x", "problem": "y", "expected": "z"}])
    results = client.results()
    client.record(
        made(1), made(2), refund(source="shop", id="r", agency="42", amount="-1", currency="EUR", refers_to="unknown")
    )
    found = {one.id: one for one in results}
    assert {id_: one.verdict for id_, one in found.items()} == {
        "order-1:1": Verdict.RECORDED, "order-2:1": Verdict.REJECTED, "r": Verdict.HELD
    }  # fmt: skip
    assert (found["r"].held, found["order-2:1"].problems) == ("unknown_sale", (Problem("x", "y", "z"),))
    assert sorted(called, key=lambda one: one.id) == sorted(found.values(), key=lambda one: one.id)


def test_a_callback_that_fails_ends_nothing(opened: Opened, caplog: pytest.LogCaptureFixture) -> None:
    def fail(_: Result) -> None:
        raise ZeroDivisionError

    client = opened(on_result=fail)
    client.record(made(1))
    assert client.flush(60) == 0
    assert "on_result failed for the event order-1:1 of shop" in caplog.text


def test_what_the_server_does_not_take_is_parked_and_sent_again_corrected(
    opened: Opened, fake: FakeQuarterhour
) -> None:
    client = opened()
    fake.answer_with("shop", "order-1:1", "rejected", errors=[{"field": "x", "problem": "y", "expected": "z"}])
    client.record(made(2))
    client.flush(60)
    client.record(made(1), made(2, "9"))
    assert client.flush(60) == 0
    parked = {one.id: one for one in client.parked()}
    assert {id_: one.verdict for id_, one in parked.items()} == {
        "order-1:1": Verdict.REJECTED, "order-2:1": Verdict.CONFLICT
    }  # fmt: skip
    assert parked["order-1:1"].problems == (Problem("x", "y", "z"),)
    assert client.resend(parked["order-1:1"])
    assert client.resend(parked["order-2:1"], sale(source="shop", id="new", agency="42", amount=9, currency="EUR"))
    assert client.flush(60) == 0
    assert (list(client.parked()), len(fake.recorded)) == ([], 3)


def test_the_next_client_sends_what_is_left(opened: Opened, fake: FakeQuarterhour) -> None:
    fake.fail(*[Drops()] * 10_000)
    first = opened()
    first.record(made(1))
    assert first.close(0.05) == 1
    fake._faults.clear()
    assert opened().flush(60) == 0
    assert len(fake.recorded) == 1


def test_of_two_clients_one_sends_and_the_other_takes_over(opened: Opened, fake: FakeQuarterhour) -> None:
    first = opened()
    second = opened()
    second.record(made(1))
    assert second.flush(60) == 0
    first.close()
    second.record(made(2))
    assert second.flush(60) == 0
    assert len(fake.recorded) == 2


def test_a_full_spool_is_an_error_at_once_and_its_end_lets_go_on(opened: Opened, fake: FakeQuarterhour) -> None:
    fake.fail(*[Fails(503, retry_after=0)] * 10_000)
    client = opened(max_events=2)
    client.record(made(1), made(2))
    with pytest.raises(SpoolFullError):
        client.record(made(3))
    fake._faults.clear()
    client.flush(60)
    client.record(made(3))
    assert client.flush(60) == 0
    assert len(fake.recorded) == 3


def test_a_full_disk_in_the_worker_sends_again_later(
    opened: Opened, fake: FakeQuarterhour, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.fail(Fails(503, retry_after=0))
    client = opened()
    finish, failures = client._spool.finish, iter([OSError("No space left on device")])

    def failing(*arguments: Any) -> None:
        for error in failures:
            raise error
        finish(*arguments)

    monkeypatch.setattr(client._spool, "finish", failing)
    client.record(made(1))
    assert client.flush(60) == 0
    assert (fake.batches, len(fake.recorded), client.trouble) == ([1, 1], 1, None)


def test_a_spool_that_is_damaged_under_way_stops_the_client_and_is_named(
    opened: Opened, path: Path, fake: FakeQuarterhour, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = opened()
    error = SpoolCorruptError(path, "is damaged")

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr(client._spool, "finish", fail)
    client.record(made(1))
    with pytest.raises(SpoolCorruptError):
        client.flush(60)
    with pytest.raises(SpoolCorruptError):
        client.record(made(2))
    assert client.trouble is not None
    with pytest.raises(SpoolCorruptError):
        client.close()
    assert len(fake.recorded) == 1


def test_a_closed_client_records_nothing(opened: Opened) -> None:
    client = opened()
    assert client.close() == 0
    assert client.close() == 0
    with pytest.raises(ClosedError):
        client.record(made(1))


def test_leaving_the_block_sends_what_was_recorded(path: Path, fake: FakeQuarterhour) -> None:
    with Client(URL, path, transport=fake, linger=60) as client:
        client.record(made(1))
    assert len(fake.recorded) == 1


def test_the_exit_of_the_process_sends_what_was_recorded(path: Path) -> None:
    program = (
        "import sys; sys.path[:0] = ['.', 'clients/python/src']\n"
        "from clients.python.tests.support import made; from quarterhour_client import Client\n"
        "from quarterhour_client.testing import FakeQuarterhour\n"
        "client = Client('https://api.example.com', sys.argv[1], transport=FakeQuarterhour(), linger=60)\n"
        "client.record(made(1))\n"
    )
    root = Path(__file__).parents[3]
    subprocess.run([sys.executable, "-c", program, str(path)], cwd=root, check=True)  # noqa: S603 - our own interpreter
    assert Spool(path).left() == 0


def test_threads_record_at_the_same_time(opened: Opened, fake: FakeQuarterhour) -> None:
    client = opened()

    def record(first: int) -> None:
        for number in range(first, first + 10):
            client.record(made(number))

    threads = [threading.Thread(target=record, args=(10 * number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (client.flush(60), len(fake.recorded)) == (0, 80)


def test_requests_are_batches_of_cloud_events_with_the_users_authorization(
    opened: Opened, fake: FakeQuarterhour
) -> None:
    tokens = iter(["first", "second"])
    client = opened(auth=Bearer(lambda: next(tokens)))
    for number in (1, 2):
        client.record(made(number))
        client.flush(60)
    (first, second) = fake.requests
    assert (first.method, str(first.url)) == ("POST", f"{URL}/events")
    assert first.headers["content-type"] == "application/cloudevents-batch+json"
    assert [one.headers["authorization"] for one in (first, second)] == ["Bearer first", "Bearer second"]


@pytest.mark.parametrize("settings", [{"batch": 501}, {"batch": 0}, {"connections": 0}])
def test_settings_out_of_bounds_are_refused(opened: Opened, path: Path, settings: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="expected 1"):
        opened(**settings)
    assert not path.exists()


def test_an_address_that_is_none_is_refused(path: Path) -> None:
    with pytest.raises(ValueError, match="expected one such as https"):
        Client("api.example.com", path)


def test_a_server_that_takes_fewer_bytes_gets_smaller_requests(opened: Opened) -> None:
    class Small(FakeQuarterhour):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            if len(request.read()) > 1000:
                return httpx.Response(413, text="Request Entity Too Large")
            return super().handle_request(request)

    small = Small()
    client = opened(transport=small)
    client.record(*[made(number) for number in range(100)])
    assert (client.flush(60), len(small.recorded), list(client.parked())) == (0, 100, [])
