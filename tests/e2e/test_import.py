"""Importing from the command line: checked whole, sent once, continued after an interruption."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.cli import main
from quarterhour_tools.loading import event_import
from quarterhour_tools.loading.event_import import locked
from tests.e2e.test_rerate import serving
from tests.support.events import Cloud, payment, refund, sale
from tests.support.system import World, opened
from tests.support.tables import ledger

EXPECTED = """agency,currency,month,events,gross,refunds,commission,payments
42,GBP,2023-04,3,30.00,0,3.00,2.50
42,GBP,2023-05,2,10.00,-5.00,,
"""


def history() -> list[Cloud]:
    """Events of two months, as a shop kept them."""
    rate = {"commission_rate": "0.10"}
    opening = sale("opening", "0.00", "adjustment.recorded", commission="1.00", kind="opening")
    return [
        {**opening, "time": "2023-04-01T00:00:00Z"},
        {**sale("a", "30.00", commission="2.00") | {"type": "adjustment.recorded"}, "time": "2023-04-30T22:59:59Z"},
        {**payment("p", "2.50"), "time": "2023-04-30T12:00:00Z"},
        {**sale("b", "10.00", **rate), "time": "2023-04-30T23:00:00Z"},
        {**refund("c", "-5.00", "b"), "time": "2023-05-01T12:00:00Z"},
    ]


def write(file: Path, events: list[Cloud]) -> str:
    file.write_text("".join(json.dumps(event) + "\n" for event in events))
    return str(file)


def run(world: World, *arguments: str) -> int:
    with serving(world) as url:
        return main(["import", *arguments, "--url", url, "--zone", "Europe/London"])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "history.ndjson"
    write(file, history())
    return file


@pytest.fixture
def world() -> Iterator[World]:
    with opened() as deployed:
        yield deployed


def recorded(world: World) -> list[str]:
    return sorted(item["id"] for item in ledger(world))


def test_a_file_with_the_expected_totals_is_recorded_once(
    world: World, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (totals := file.with_name("totals.csv")).write_text(EXPECTED)
    with serving(world) as url:
        again = ["import", str(file), "--url", url, "--zone", "Europe/London"]
        assert main([*again, "--expect", str(totals)]) == 0
        assert "all 5 events are in the ledger" in capsys.readouterr().out
        assert recorded(world) == ["a", "b", "c", "opening", "p"]
        (opening,) = (item for item in ledger(world) if item["id"] == "opening")
        assert opening["kind"] == "opening"
        assert main(again) == 0, "the second run finds everything sent"
        file.with_name(file.name + ".progress").unlink()
        assert main(again) == 0, "another person's run sends everything again"
    assert recorded(world) == ["a", "b", "c", "opening", "p"]


def test_differences_from_the_expected_totals_are_listed_and_nothing_is_sent(
    world: World, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (totals := file.with_name("totals.csv")).write_text(EXPECTED.replace("30.00", "31.00") + "7,EUR,2023-05,1,,,,\n")
    assert run(world, str(file), "--expect", str(totals)) == 1
    out = capsys.readouterr().out
    assert "42#GBP 2023-04: gross is 30.00, expected 31.00" in out
    assert "7#EUR 2023-05: not in the file" in out
    assert "2 differences: nothing was sent" in out
    assert recorded(world) == []


def test_a_truncated_file_is_refused_before_anything_is_sent(
    world: World, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    packed = file.with_name("history.ndjson.gz")
    packed.write_bytes(gzip.compress(file.read_bytes())[:-20])
    assert run(world, str(packed)) == 2
    file.write_bytes(file.read_bytes()[:-30])
    assert run(world, str(file)) == 2
    err = capsys.readouterr().err
    assert "end-of-stream" in err
    assert "line 5: is not JSON" in err
    assert recorded(world) == []


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"time": None}, "line 5: time is missing"),
        ({"id": "a"}, "line 5: shop#a is in the file more than once"),
        ({"source": "orders", "id": "7:1"}, "line 5: id is that of an order's sale or refund"),
        ({"type": "sale.recorded"}, "line 5: data.amount is -5.00: expected 0 or more"),
    ],
)
def test_a_line_that_cannot_be_imported_is_named_before_anything_is_sent(
    world: World, file: Path, capsys: pytest.CaptureFixture[str], change: dict[str, Any], problem: str
) -> None:
    *others, last = history()
    changed = {name: value for name, value in {**last, **change}.items() if value is not None}
    write(file, [*others, changed])
    assert run(world, str(file)) == 2
    assert problem in capsys.readouterr().err
    assert recorded(world) == []


def test_a_csv_file_is_no_file_of_events(world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (other := tmp_path / "sales.csv").write_text("id,amount\na,1\n")
    assert run(world, str(other)) == 2
    assert "problems: 2; nothing was sent" in capsys.readouterr().err


def test_an_interrupted_import_continues_and_another_file_or_version_is_refused(
    world: World, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = file.with_name(file.name + ".progress")
    with serving(world) as url:
        assert main(["import", str(file), "--url", url]) == 0
        stored = json.loads(progress.read_text())
        progress.write_text(json.dumps({**stored, "done": 2}))
        assert main(["import", str(file), "--url", url]) == 0
        assert json.loads(progress.read_text())["done"] == 5
        for changed, problem in (
            ({"format": 2}, "another version of quarterhour"),
            ({"sha256": "0"}, "another file, or another version of this one"),
            ({"address": "http://elsewhere"}, "another deployment"),
            ({"missing": ["none"]}, "is no progress file"),
            ({"done": None}, "is no progress file"),
        ):
            progress.write_text(json.dumps({**stored, **changed}))
            assert main(["import", str(file), "--url", url]) == 2
            assert problem in capsys.readouterr().err
        for content in ("[]", "[" * 100_000):
            progress.write_text(content)
            assert main(["import", str(file), "--url", url]) == 2
            assert "is no progress file" in capsys.readouterr().err


def test_another_version_of_a_file_is_not_continued_as_if_it_were_the_same(
    world: World, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first version was sent up to line 2 to a stack of this address."""
    progress = file.with_name(file.name + ".progress")
    with serving(world) as url:
        again = ["import", str(file), "--url", url]
        assert main(again) == 0
        stored = json.loads(progress.read_text())
        progress.write_text(json.dumps({**stored, "done": 2}))
        *others, last = history()
        write(file, [*others, {**last, "id": "c2"}])
        assert main(again) == 2
        assert "another file, or another version of this one: delete it" in capsys.readouterr().err
        assert recorded(world) == ["a", "b", "c", "opening", "p"]
        progress.unlink()
        assert main(again) == 0
    assert recorded(world) == ["a", "b", "c", "c2", "opening", "p"]


def test_a_file_that_changes_while_it_is_checked_or_sent_is_no_success(
    world: World, file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for step, sent in (("check", []), ("_send", ["a", "b", "c", "opening", "p"])):
        original = getattr(event_import, step)

        def change(*arguments: Any, original: Any = original) -> Any:
            result = original(*arguments)
            with file.open("a") as more:
                more.write("\n")
            return result

        with monkeypatch.context() as patch:
            patch.setattr(event_import, step, change)
            assert run(world, str(file)) == 2
        assert "has changed while it was" in capsys.readouterr().err
        assert recorded(world) == sent


def test_of_two_people_who_import_one_file_at_once_the_second_must_wait(
    world: World, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with locked(file):
        assert run(world, str(file)) == 2
    assert "is imported by another process at this moment" in capsys.readouterr().err
    assert run(world, str(file)) == 0
    assert recorded(world) == ["a", "b", "c", "opening", "p"]


def test_a_held_event_is_named_with_what_it_waits_for(
    world: World, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(file, [{**refund("c", "-5.00", "none"), "time": "2023-05-01T12:00:00Z"}])
    assert run(world, str(file)) == 1
    assert "line 1: held: data.refers_to is no recorded sale yet" in capsys.readouterr().out


def test_an_event_that_is_not_recorded_is_named_and_sent_again_by_the_next_run(
    world: World, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    too_much = {**refund("d", "-50.00", "b"), "time": "2023-05-02T12:00:00Z"}
    write(file, [*history(), too_much])
    with serving(world) as url:
        for _ in range(2):
            assert main(["import", str(file), "--url", url]) == 1
            assert "line 6: rejected: data.amount" in capsys.readouterr().out
    assert recorded(world) == ["a", "b", "c", "opening", "p"]
