"""The same events by each way in: the sums are the same, and what is refused is found, corrected and sent again."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from quarterhour.model.clock import SystemClock, using
from quarterhour_tools.cli import main
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.loading.event_through import WAYS
from tests.support.events import Cloud, refund, sale
from tests.support.served import until
from tests.support.system import World
from tests.support.tables import ledger

pytestmark = pytest.mark.slow


def events() -> list[Cloud]:
    """Return sales of some hours with refunds, a retry, a conflict, an event that is invalid, and one that is held."""
    start = datetime(2026, 10, 23, 8, tzinfo=UTC).timestamp()
    sold = [
        {
            **sale(f"s{at}", f"{at}.25", agency=str(at % 3)),
            "time": f"{datetime.fromtimestamp(start + 97 * at, UTC):%FT%TZ}",
        }
        for at in range(1, 60)
    ]
    given = [refund(f"r{at}", "-0.25", of=f"s{at}", agency=str(at % 3)) for at in (5, 17)]
    return [
        *sold,
        *given,
        sold[3],
        {**sold[4], "data": sold[5]["data"]},
        sale("bad", "ten"),
        refund("h", "-1", of="none"),
    ]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "shop.ndjson"
    path.write_text("".join(f"{json.dumps(one)}\n" for one in events()))
    return path


def test_a_replay_has_the_same_sums_by_each_way_in(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found: dict[str, Any] = {}
    for through in ([], *(["--through", way] for way in WAYS)):
        assert main(["replay", str(file), "--json", *through]) == 0
        found[through[-1] if through else "http"] = json.loads(capsys.readouterr().out)
    of_http = found["http"]
    assert of_http["verified"] is True
    names = ("sent", "recorded", "duplicate", "conflict", "rejected", "held", "accounts", "ledger")
    for way in WAYS:
        assert {name: found[way][name] for name in names} == {name: of_http[name] for name in names}, way


@pytest.fixture
def served() -> Iterator[tuple[Server, World]]:
    """An emulator as `quarterhour up` has it; without its address in S3's links, its clients may be in this process."""
    server = Server(0)
    own = {"Intake": "queue-and-bus"}
    clock = SystemClock()
    with using(clock), open_stack("embedded", own, plain=True) as stack, server.serving(stack):
        yield server, World(stack, clock)  # type: ignore[arg-type] # nobody sets this clock


def test_what_is_sent_by_each_way_is_recorded_once_and_what_is_refused_is_corrected(
    served: tuple[Server, World], file: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    server, world = served
    url = ["--url", server.url]

    def run(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        return main([*arguments, *url]), capsys.readouterr().out

    def recorded(number: int) -> None:
        until(lambda: in_ledger() == number)

    def in_ledger() -> int:
        with server.turns.taken():
            return len(ledger(world))

    assert run("send", str(file), "--through", "queue")[1].startswith("65 events sent in 1 message\n")
    recorded(61)
    assert run("send", str(file), "--through", "bus")[1].startswith("65 events sent in 65 messages\n")
    code, said = run("send", str(file), "--through", "inbox")
    assert (code, "done: 65 lines: " in said) == (1, True), said
    assert "62 duplicate, 1 conflict, 1 rejected, 1 held\n" in said
    assert "line 63: conflict: id was recorded before" in said
    recorded(61)
    until(lambda: run("unpark", "--list")[1].endswith("\n4 events parked\n"))
    _, listed = run("unpark", "--list", "--json")
    assert sorted((one["verdict"], one["event"]["id"]) for one in json.loads(listed)) == sorted(
        [("conflict", "s5"), ("rejected", "bad")] * 2
    )
    assert run("unpark")[0] == 1, "nothing was corrected"
    corrected = tmp_path / "parked.ndjson"
    code, said = run("unpark", "--take", str(corrected))
    assert (code, "has 4 events" in said) == (0, True), said
    texts = corrected.read_text().replace('"amount":"ten"', '"amount":"10"').splitlines()
    corrected.write_text("\n".join(one for one in texts if '"s5"' not in one))
    assert run("unpark", "--list")[1].endswith("\n0 events parked\n")
    assert run("unpark", "--take", str(tmp_path / "none"))[1] == "no event is parked\n"
    assert run("send", str(corrected), "--through", "queue")[0] == 0
    recorded(62)
    assert main(["unpark", *url]) == 0
    csv = tmp_path / "sales.csv"
    csv.write_text("Type,ID\n")
    assert run("send", str(csv), "--through", "inbox", "--map", "stripe")[0] == 1
    assert main(["send", str(csv), "--through", "inbox", *url]) == 2
    assert "--map names the map of a CSV file" in capsys.readouterr().err
    for name in (".", ".."):
        assert main(["send", str(csv), "--through", "inbox", "--map", name, *url]) == 2
        assert "no . or .." in capsys.readouterr().err


def test_a_deployment_without_an_intake_says_how_it_gets_one(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server = Server(0)
    with open_stack("embedded", plain=True) as stack, server.serving(stack):
        assert main(["send", str(file), "--through", "queue", "--url", server.url]) == 2
        assert "deploy it with the parameter Intake=queue" in capsys.readouterr().err
        assert main(["unpark", "--list", "--url", server.url]) == 2
        assert main(["unpark", "--url", server.url]) == 0
