"""The load generator: what it sends, what it learns from the answers, and whom it may load."""

import argparse
import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks import load as loading
from benchmarks.load import Load, loopback, main, percentile, summary
from benchmarks.shop import Event, Orders, Sales, Shop
from quarterhour.ledger.events.event import Event as ReadEvent
from quarterhour.ledger.events.event import read_event
from quarterhour.model.clock import ManualClock
from quarterhour.model.exact_json import parse
from quarterhour.model.totals import Totals

AT = datetime(2026, 10, 23, 1, 30, tzinfo=UTC)
ORDERS = Orders(seconds=0.05, rate=4000, batch=20, again=0.25, agencies=("a", "b"))


class System:
    """Answers as Quarterhour does; some of its answers are lost on the way, some items are put off."""

    def __init__(self, lost: tuple[int, ...] = (), put_off: tuple[int, ...] = ()) -> None:
        self._lost = lost
        self._put_off = put_off
        self.batches: list[list[Event]] = []
        self.events: dict[str, Event] = {}

    def __call__(self, events: list[Event]) -> list[str] | None:
        number = len(self.batches)
        self.batches.append(events)
        if number in self._put_off:
            return ["unavailable"] * len(events)
        verdicts = []
        for event in events:
            verdicts.append("duplicate" if event["id"] in self.events else "recorded")
            assert self.events.setdefault(event["id"], event) == event
        return None if number in self._lost else verdicts

    def totals(self) -> dict[str, Totals]:
        sums: dict[str, Totals] = {}
        for event in self.events.values():
            amount = Decimal(event["data"]["amount"])
            sums[event["subject"]] = sums.get(event["subject"], Totals()).plus(amount, amount * Decimal("0.125"))
        return sums


def test_a_shop_sends_valid_events_of_sales_and_refunds() -> None:
    shop = Shop("shop", ORDERS)
    events = [event for _ in range(20) for event in shop.next_batch()]
    read = [read_event(parse(json.dumps(event))) for event in events]
    assert all(isinstance(one, ReadEvent) for one in read), read
    assert {event["type"] for event in events} == {"sale.recorded", "sale.refunded"}
    assert {event["subject"] for event in events} == {"a", "b"}


def test_a_shop_sends_some_events_again_and_counts_each_once() -> None:
    system = System()
    sales = Shop("shop", ORDERS).trade(system)
    assert sales.verdicts["duplicate"]
    assert sales.verdicts["recorded"] == len(system.events) == len(sales.ids)
    assert sales.recorded == system.totals()
    assert (sales.twice, sales.unanswered, sales.failures) == (0, 0, Counter())
    assert len(sales.latencies) == len(system.batches)


def test_a_shop_retries_events_without_an_answer() -> None:
    system = System(lost=(0, 2), put_off=(1, 3))
    sales = Shop("shop", ORDERS).trade(system)
    assert system.batches[0] == system.batches[1] == system.batches[2]
    assert sales.ids == system.events.keys()
    assert sales.recorded == system.totals()
    assert sales.verdicts["unavailable"] == 40


def test_a_shop_keeps_to_its_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, sent = ManualClock(AT), list[float]()

    def passed() -> float:
        return (clock.now() - AT).total_seconds()

    def sleep(seconds: float) -> None:
        clock.advance(timedelta(seconds=seconds))

    def send(events: list[Event]) -> list[str]:
        sent.append(passed())
        sleep(0.5)
        return ["recorded"] * len(events)

    monkeypatch.setattr("benchmarks.shop.time", SimpleNamespace(monotonic=passed, sleep=sleep))
    Shop("shop", Orders(seconds=7, rate=5, batch=10, again=0, agencies=("a",))).trade(send)
    assert sent == [0, 2, 4, 6]


def test_a_shop_reports_events_that_never_got_an_answer() -> None:
    sales = Shop("shop", Orders(seconds=0.001, rate=10_000, batch=5, again=0, agencies=("a",))).trade(lambda _: None)
    assert sales.unanswered == 5
    assert not sales.recorded


def test_a_system_that_records_twice_is_found_out() -> None:
    orders = Orders(seconds=0.05, rate=4000, batch=20, again=0.5, agencies=("a",))
    sales = Shop("shop", orders).trade(lambda events: ["recorded"] * len(events))
    assert sales.twice == sales.verdicts["recorded"] - len(sales.ids) > 0


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8080", "http://localhost:8080/", "http://[::1]:80", "http://127.9.9.9"]
)
def test_this_machine_may_be_loaded(url: str) -> None:
    assert loopback(url) == url.rstrip("/")


@pytest.mark.parametrize(
    "url",
    [
        "http://10.0.0.1",
        "https://127.0.0.1",
        "http://example.com",
        "http://127.0.0.1.example.com",
        "127.0.0.1",
        "http://",
        "http://127.0.0.1/events",
    ],
)
def test_nobody_else_may_be_loaded(url: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no http address of this machine"):
        loopback(url)


@pytest.mark.parametrize(("percent", "value"), [(50, 5.0), (90, 9.0), (99, 10.0), (100, 10.0), (1, 1.0)])
def test_a_percentile_is_a_value_that_so_many_do_not_exceed(percent: int, value: float) -> None:
    assert percentile([float(number) for number in range(10, 0, -1)], percent) == value


def test_the_summary_tells_rate_latencies_and_verdicts() -> None:
    one = Sales(2.0, [0.010, 0.020], Counter(recorded=90, duplicate=10), Counter({"503": 1}))
    other = Sales(1.5, [0.030], Counter(recorded=20), Counter())
    assert summary(Load([one, other])).splitlines() == [
        "120 events in 3 requests, 2.0 s: 60 events/s",
        "latency of a request in ms, p50/90/99/100: 20/30/30/30",
        "verdicts: 10 duplicate, 110 recorded",
        "requests without verdicts: 1 503",
    ]


def test_bounds_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    for option, value in [("--seconds", "0"), ("--rate", "1000000"), ("--processes", "65"), ("--batch", "501")]:
        with pytest.raises(SystemExit):
            main([option, value])
        assert "does not lie between" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--again", "1"])
    assert "no share" in capsys.readouterr().err


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the API says, by path; a test changes it."""
    said: dict[str, Any] = {
        "/accounts/load%201/EUR": {"events": 2, "gross": "30.00", "refunds": "0", "commission": "3.75000"},
        "/events": {"items": [{"source": "load-0", "id": "1"}, {"source": "load-0", "id": "2"}], "next": None},
    }
    monkeypatch.setattr(loading, "_get", lambda _, path, __=None: said[path])
    monkeypatch.setattr(loading, "CATCH_UP_SECONDS", 0)
    monkeypatch.setattr(loading, "_POLL_SECONDS", 0)
    return said


def violations() -> list[str]:
    sales = Sales(
        recorded={"load 1": Totals().plus(Decimal(10), Decimal("1.25")).plus(Decimal(20), Decimal("2.5"))},
        ids={"1", "2"},
    )
    return loading.problems("http://127.0.0.1", Load([sales]), AT, "load")


def test_what_agrees_is_no_problem(answers: dict[str, Any]) -> None:
    answers["/events"]["items"].append({"source": "somebody else", "id": "1"})
    assert violations() == []


@pytest.mark.parametrize(
    ("ids", "problem"),
    [
        ("1", "events sent and not in the ledger: 1, such as .*'2'"),
        ("122", "events in the ledger that were not sent, or more than once: 1, such as .*'2'"),
        ("123", "events in the ledger that were not sent, or more than once: 1, such as .*'3'"),
    ],
)
def test_an_event_lost_or_doubled_in_the_ledger_is_a_problem(answers: dict[str, Any], ids: str, problem: str) -> None:
    answers["/events"]["items"] = [{"source": "load-0", "id": id_} for id_ in ids]
    (found,) = violations()
    assert re.match(problem, found), found


@pytest.mark.parametrize("changed", [{"events": 1}, {"events": 3}, {"gross": "30.01"}, {"commission": "3.7499"}])
def test_an_account_that_counts_otherwise_is_a_problem(answers: dict[str, Any], changed: dict[str, Any]) -> None:
    answers["/accounts/load%201/EUR"].update(changed)
    (found,) = violations()
    assert found.startswith("load 1: the account says")


def test_a_system_that_does_not_start_is_reported(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(loading, "_UP", "")
    assert main([]) == 2
    assert capsys.readouterr().err == "load: `quarterhour up` did not start: run it by itself to see why\n"


@pytest.mark.slow
@pytest.mark.usefixtures("socket_enabled")
def test_the_local_stack_holds_under_load(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--seconds", "2", "--rate", "100", "--batch", "10", "--again", "0.3"]) == 0
    assert "each once in the ledger and once in its account, sums exact" in capsys.readouterr().out
