"""A console with history: the made-up year of `quarterhour up --demo`, and a person's own after `replay --open`."""

import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest

from quarterhour.model import clock
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.serving import serve_from
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.replay.year import first_of
from quarterhour_tools.replay.year_agencies import AGENCIES, CLIENT, DISPUTES, FAILS, NEW, UNMATCHED, UNREGISTERED
from tests.e2e.sales import START, event, lines
from tests.support.served import call

COMMAND = "import sys; from quarterhour_tools.entry import main; sys.exit(main())"


@contextmanager
def serving(*arguments: str) -> Iterator[tuple[str, list[str]]]:
    """Run a command until it prints where its console is; yield the address, and the lines before it."""
    command = [sys.executable, "-c", COMMAND, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:  # noqa: S603 - our own
        try:
            assert process.stdout
            before: list[str] = []
            for line in process.stdout:
                if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                    yield found[0], before
                    break
                before.append(line.strip())
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def items(url: str, path: str) -> list[dict[str, Any]]:
    """Return the items of a list, from all its pages."""
    found: list[dict[str, Any]] = []
    following: str | None = ""
    while following is not None:
        after = f"&next={following}" if following else ""
        status, answer = call(f"{url}{path}{'&' if '?' in path else '?'}limit=1000{after}")
        assert status == 200
        found += answer["items"]
        following = answer["next"]
    return found


def drafts_with(drafts: Sequence[dict[str, Any]], check: str) -> set[str]:
    return {one["agency"] for one in drafts if check in {each["check"] for each in one["checks"]}}


@pytest.mark.slow
def test_a_made_up_year_ends_today_and_its_last_month_is_to_be_closed() -> None:
    with serving("up", "--demo", "--demo-months", "2", "--port", "0") as (url, before):
        registered = {one["agency"]: one["legal_name"] for one in items(url, "/agencies")}
        assert registered == {agency.id: agency.name for agency in AGENCIES}
        today = datetime.now(UTC).date()
        last, released = (f"{first_of(today, ahead):%Y-%m}" for ahead in (-1, -2))
        drafts = items(url, "/drafts")
        assert before == [f"{last} is to be closed: {len(drafts)} drafts wait for a person."]
        assert {(one["period"], one["state"]) for one in drafts} == {(last, "open")}
        assert {one["agency"] for one in drafts} == {agency.id for agency in AGENCIES} - {FAILS} | {UNREGISTERED}
        assert drafts_with(drafts, "agency") == {UNREGISTERED}
        assert drafts_with(drafts, "default_rate") == {NEW, UNREGISTERED}
        assert drafts_with(drafts, "disputes") == {DISPUTES}
        assert drafts_with(drafts, "held_events") == {CLIENT}
        assert (CLIENT, "USD") in {(one["agency"], one["currency"]) for one in drafts}
        assert {one["currency"] for one in items(url, "/exchange-rates")} == {"GBP", "JPY"}
        statements = items(url, f"/statements?period={released}")
        assert {one["currency"] for one in statements} == {"EUR", "GBP", "JPY"}
        assert Counter(one["document"] for one in statements)["statement"] > 35
        receivables = items(url, "/receivables")
        assert [one["agency"] for one in receivables if one["unknown"]] == [UNMATCHED]


@pytest.mark.slow
def test_a_history_of_ones_own_is_shown_with_its_last_month_as_this_month(tmp_path: Path) -> None:
    history = tmp_path / "history.ndjson"
    history.write_bytes(b"".join(lines([event(number) for number in range(3)])))
    with serving("replay", str(history), "--statements", "--open", "--no-browser", "--port", "0") as (url, before):
        assert before[-1] == "verified: counters and sealed files agree"
        (account,) = items(url, "/accounts")
        assert account["events"] == 3
        (period, *_) = items(url, "/periods")
        assert (period["period"], period["state"]) == (f"{START:%Y-%m}", "open")


def test_the_clock_runs_on_from_the_end_of_what_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    server = Server(0)
    seen: list[Any] = []

    def look(address: str) -> None:
        with urlopen(address) as page:  # noqa: S310 - our own
            seen.append(page.status)
        seen.extend((call(f"{server.url}/periods?limit=1")[1]["items"][0]["period"], clock.now()))
        server.stop()

    monkeypatch.setattr("webbrowser.open", lambda address: threading.Thread(target=look, args=(address,)).start())
    with open_stack("moto", s3_url=server.url, virtual=True) as stack:
        serve_from(server, stack, START, "/console/statements")
    assert seen[:2] == [200, f"{START:%Y-%m}"]
    assert seen[2] > START
