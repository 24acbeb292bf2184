"""Statements on people's machines: made by a replay on the virtual clock, listed, downloaded, opened and run."""

import csv
import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from random import Random
from typing import Any

import pytest

from quarterhour.model.clock import ManualClock, using
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.accounting.document_lines import with_lines
from quarterhour_tools.accounting.journal_entries import journal_entries
from quarterhour_tools.bucket import Folder
from quarterhour_tools.cli import main
from quarterhour_tools.emulator.faults import Faults, Spec
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.errors import ToolError
from quarterhour_tools.replay.replay import Replay, replaying
from quarterhour_tools.replay.result import ReplayResult
from quarterhour_tools.statements import command as statements
from quarterhour_tools.statements import drafts
from quarterhour_tools.target import deployment
from quarterhour_tools.target.remote import Remote
from tests.e2e.sales import lines
from tests.e2e.test_rerate import serving
from tests.support.accounting import accounts
from tests.support.events import by_sign
from tests.support.repository import ROOT
from tests.support.statement_parties import OWNER, parties, registered
from tests.support.system import World

EXAMPLES = ROOT / "examples"
OWNER_FILE = str(EXAMPLES / "owner.json")


def at(time: str, amount: str = "10.00", agency: str = "42", **more: Any) -> dict[str, Any]:
    """Return an event of an instant; its id is the instant's text."""
    return {**by_sign(f"{agency}-{time}", amount, agency=agency, commission_rate="0.125"), "time": time, **more}


@contextmanager
def replayed_months(settings: Mapping[str, str | int], faults: Faults | None = None) -> Iterator[Replay]:
    with (
        open_stack("embedded", {"ReportRate": "rate(1 day)"}, virtual=True, faults=faults, settings=settings) as stack,
        replaying(stack, statements=True) as replay,
    ):
        replay.prepare(parties("42"))
        yield replay


def outcome_of(events: list[dict[str, Any]], **settings: str | int) -> ReplayResult:
    with replayed_months(settings) as tested:
        tested.play(lines(events))
        return tested.finish()


def sealed(outcome: ReplayResult, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(one[name] for name in names) for one in outcome.as_dict()["statements"]]


@pytest.mark.slow
def test_the_months_are_those_of_the_marketplace() -> None:
    events = [at("2026-10-31T14:59:00Z"), at("2026-10-31T15:00:00Z", "4.00")]
    outcome = outcome_of(events, time_zone="Asia/Tokyo", grace_days=0, first_period="2026-11")
    assert sealed(outcome, "period", "net", "closing") == [("2026-11", "4.00", "0.50")]


@pytest.mark.slow
def test_periods_that_are_sealed_at_once_are_proven() -> None:
    with replayed_months({"grace_days": 0}) as tested:
        tested.timeline.statements = False
        tested.play(lines([at("2026-09-30T12:00:00Z"), at("2026-11-01T12:00:00Z")]))
        tested.timeline.statements = True
        outcome = tested.finish()
    assert outcome.verified
    assert sealed(outcome, "period", "closing") == [("2026-09", "1.25"), ("2026-11", "2.50")]


def test_a_file_without_events_has_no_statements() -> None:
    found = outcome_of([]).as_dict()
    assert (found["statements"], found["drafts"]) == ([], [])


@pytest.mark.slow
def test_without_an_owner_drafts_are_made_and_no_statement() -> None:
    with (
        open_stack("embedded", {"ReportRate": "rate(1 day)"}, virtual=True) as stack,
        replaying(stack, statements=True) as tested,
    ):
        tested.prepare(parties("42")[1:])
        tested.play(lines([at("2026-10-30T12:00:00Z"), at("2026-11-02T12:00:00Z")]))
        found = tested.finish().as_dict()
    assert found["verified"]
    assert found["statements"] == []
    assert [(one["period"], one["state"], [check["check"] for check in one["checks"]]) for one in found["drafts"]] == [
        ("2026-10", "open", ["owner"]),
        ("2026-11", "open", ["order", "owner"]),
    ]
    missing = found["drafts"][0]["checks"][0]["message"]
    assert missing == "the owner lacks legal_name, address, country: write them with `quarterhour owner`"


@pytest.mark.slow
def test_drafts_that_only_a_check_of_their_taxes_holds_back_are_released_for_a_reason(tmp_path: Path) -> None:
    sales = [at("2026-10-30T12:00:00Z"), at("2026-11-02T12:00:00Z"), at("2026-11-02T12:00:01Z", agency="43")]
    (tmp_path / "events.ndjson").write_bytes(b"\n".join(lines(sales)))
    (tmp_path / "owner.json").write_text(json.dumps(OWNER))
    taxed = {"scheme": "standard", "percent": "13"}
    named = {"legal_name": "Lamp Ltd", "address": "1 Dock Street", "country": OWNER["country"], "tax": taxed}
    (tmp_path / "agencies.ndjson").write_text("\n".join(json.dumps({"agency": one, **named}) for one in ("42", "43")))
    common = ["--statements", "--rate", "rate(1 day)", "--owner", str(tmp_path / "owner.json"), "--json"]
    common += ["--agencies", str(tmp_path / "agencies.ndjson"), str(tmp_path / "events.ndjson")]

    def replayed(*more: str) -> dict[str, Any]:
        with redirect_stdout(StringIO()) as shown:
            assert main(["replay", *common, *more]) == 0
        found: dict[str, Any] = json.loads(shown.getvalue())
        return found

    held_back = replayed()
    assert held_back["statements"] == []
    assert [one["period"] for one in held_back["drafts"]] == ["2026-10", "2026-11", "2026-11"]
    released = replayed("--reason", "a rate of its own")
    assert released["verified"]
    assert released["drafts"] == []
    assert [(one["period"], one["agency"], one["tax"]) for one in released["statements"]] == [
        ("2026-10", "42", "0.16"),
        ("2026-11", "42", "0.16"),
        ("2026-11", "43", "0.16"),
    ]
    assert main(["replay", str(tmp_path / "events.ndjson"), "--reason", "without statements"]) == 2


@pytest.mark.slow
def test_a_run_that_fails_is_made_at_a_later_tick() -> None:
    faults = Faults(Spec.parse("all=0.04,seed=5"))
    with faults.installed(), replayed_months({}, faults) as tested:
        tested.play(lines([at("2026-10-31T12:00:00Z"), at("2026-11-03T12:00:00Z")]))
        outcome = tested.finish()
    assert faults.struck
    assert outcome.verified
    assert sealed(outcome, "period", "closing") == [("2026-10", "1.25"), ("2026-11", "2.50")]


@pytest.mark.slow
def test_a_period_that_is_never_sealed_is_not_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    with replayed_months({}) as tested:
        plain = tested._stack._invoke
        failing = {"statements"}

        def invoke(name: str, *more: Any) -> Any:
            if name in failing:
                raise RuntimeError("no statement today")
            return plain(name, *more)

        monkeypatch.setattr(tested._stack, "_invoke", invoke)
        tested.play(lines([at("2026-10-31T12:00:00Z")]))
        outcome = tested.finish()
        assert not outcome.verified
        assert "statements: a period that is due is not sealed" in outcome.problems
        failing.clear()
        assert tested.finish().verified


EVENTS = (
    at("2026-10-30T12:00:00Z"),
    at("2026-11-04T00:00:00Z", "4.00"),
    at("2026-11-04T00:01:00Z", "7.00", "Café/7"),
    at("2026-10-31T12:00:00Z", "1.00", "Café/7"),
    at("2026-11-05T12:00:00Z", "2.00", "9"),
)
"""The fourth one is sent after the cut-off of October; 9 is not registered."""
AGENCIES = (
    {"agency": "42", **registered({"scheme": "standard", "percent": "20"})},
    {"agency": "Café/7", **registered({"scheme": "outside_scope"}, collects="marketplace")},
)


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """The folder of a replay with the statements of two periods, and the object that it printed."""
    place = tmp_path_factory.mktemp("replayed")
    names = ("events.ndjson", "agencies.ndjson", "owner.json", "out")
    file, agencies, owner, out = (place / name for name in names)
    file.write_bytes(b"".join(lines(EVENTS)))
    agencies.write_text("".join(f"{json.dumps(one)}\n" for one in AGENCIES), "utf-8")
    owner.write_text(json.dumps(OWNER), "utf-8")
    replay = ["replay", str(file), "--statements", "--agencies", str(agencies), "--owner", str(owner)]
    with redirect_stdout(StringIO()) as printed:
        assert main([*replay, "--rate", "rate(1 day)", "--json", "--out", str(out)]) == 0
    return out, json.loads(printed.getvalue())


@pytest.fixture
def folder(replayed: tuple[Path, dict[str, Any]]) -> Path:
    return replayed[0]


def test_each_period_is_sealed_and_the_clock_goes_on_to_the_last(replayed: tuple[Path, dict[str, Any]]) -> None:
    _, printed = replayed
    assert printed["verified"]
    assert list(printed["statements"][0]) == [
        *("agency", "currency", "period", "number", "document", "release", "revision", "cancels"),
        *("opening", "brought_forward", "sales", "voids", "refunds", "adjustments", "net", "commission_exact"),
        *("commission", "tax", "proceeds", "payments", "closing", "lines", "prior_period_lines", "taxes"),
    ]
    names = (
        *("period", "agency", "number", "opening", "net", "commission", "tax", "proceeds", "closing"),
        *("lines", "prior_period_lines"),
    )
    assert [tuple(one[name] for name in names) for one in printed["statements"]] == [
        ("2026-10", "42", "S-000001", "0", "10.00", "1.25", "0.25", "0.00", "1.50", 1, 0),
        ("2026-11", "42", "S-000002", "1.50", "4.00", "0.50", "0.10", "0.00", "2.10", 1, 0),
        ("2026-11", "Café/7", "S-000003", "0", "8.00", "1.00", "0.00", "8.00", "-7.00", 2, 1),
    ]
    assert [one["taxes"] for one in printed["statements"]][1:] == [
        [{"scheme": "standard", "percent": "20", "base": "0.50", "tax": "0.10"}],
        [{"scheme": "outside_scope", "percent": "0", "base": "1.00", "tax": "0.00"}],
    ]


def test_a_draft_of_an_agency_that_is_not_registered_waits_with_the_reason(
    replayed: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, printed = replayed
    (draft,) = printed["drafts"]
    assert list(draft) == [
        *("period", "agency", "currency", "state", "brought_forward", "net", "commission_exact", "payments"),
        *("lines", "prior_period_lines", "checks"),
    ]
    assert (draft["period"], draft["agency"], draft["net"], draft["commission_exact"]) == (
        *("2026-11", "9", "2.00", "0.25000"),
    )
    assert [(one["check"], one["level"]) for one in draft["checks"]] == [("agency", "failed"), ("tax", "failed")]
    assert main(["statements", str(folder), "--drafts"]) == 0
    assert ["2026-11", "9", "GBP", "2.00", "0.25000", "0", "unknown"] in [
        line.split() for line in capsys.readouterr().out.splitlines()
    ]
    assert main(["statements", str(folder), "--drafts", "--json", "--period", "2026-10"]) == 0
    assert json.loads(capsys.readouterr().out) == []


def test_a_replay_writes_the_statements_and_no_work_object(folder: Path) -> None:
    assert sorted(one.name for one in (folder / "statements/2026-10/42/GBP").iterdir()) == [
        *("draft.json", "lines.csv.gz", "statement.html", "statement.json", "statement.xml"),
    ]
    assert not (folder / "work").exists()
    assert main(["verify", str(folder)]) == 0


def test_the_statements_of_a_folder_are_listed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["statements", str(folder), "--period", "2026-11"]) == 0
    out = capsys.readouterr().out
    assert "Statements of 2026-11" in out
    assert ["S-000002", "42", "GBP", "4.00", "0.50", "0.10", "0.00", "0", "2.10", "issued"] in [
        line.split() for line in out.splitlines()
    ]
    assert str(folder / "statements/2026-11/Caf%C3%A9%2F7/GBP/statement.html") in out
    assert main(["statements", str(folder), "--agency", "Café/7", "--json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)
    assert (one["agency"], one["period"], one["closing"]) == ("Café/7", "2026-11", "-7.00")


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that are opened in the browser."""
    addresses: list[str] = []
    monkeypatch.setattr("webbrowser.open", addresses.append)
    return addresses


def test_the_statements_are_opened_in_the_browser(folder: Path, browser: list[str]) -> None:
    assert main(["statements", str(folder), "--period", "2026-10", "--open"]) == 0
    assert browser == [(folder / "statements/2026-10/42/GBP/statement.html").as_uri()]


@pytest.mark.slow
def test_a_pdf_is_written_beside_each_downloaded_statement(
    folder: Path, tmp_path: Path, browser: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["statements", str(folder), "--period", "2026-10", "--out", str(tmp_path), "--pdf", "--open"]) == 0
    file = tmp_path / "statements/2026-10/42/GBP/statement.pdf"
    assert file.read_bytes().startswith(b"%PDF-1.7")
    assert browser == [file.as_uri()]
    shown = capsys.readouterr()
    assert str(file) in shown.out
    assert shown.err == "", "the invoice is inside"


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--pdf"], "--pdf needs --out"),
        (["--period", "2026-12"], "2026-12 is not sealed; the sealed periods are 2026-10, 2026-11"),
        (["--agency", "43"], "2026-11 has no statement of the agency 43"),
        (["--run"], "--run needs a stack"),
        (["--release"], "a decision needs a stack"),
        (["--hold", "9", "--period", "2026-11"], "--reason goes with --hold and --cancel: both need it"),
        (["--cancel", "42", "--reason", "x"], "--hold and --cancel need a --period"),
        (["--release", "--reason", "x"], "--reason goes with --hold, --cancel, and --release of named agencies alone"),
        (["--json", "--run"], "--json does not go with --open or --run"),
    ],
)
def test_what_cannot_be_listed_has_a_reason(
    folder: Path, arguments: list[str], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["statements", str(folder), *arguments]) == 2
    assert reason in capsys.readouterr().err


def test_statements_are_listed_without_their_statuses_if_the_api_cannot_be_reached(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["statements", str(folder)]) == 0
    known = capsys.readouterr().out
    monkeypatch.setattr(statements, "sealed_files", lambda _: Folder(folder))
    assert main(["statements", "--url", "http://127.0.0.1:1"]) == 1
    printed = capsys.readouterr()
    assert "the statuses are missing, because the API gives none: GET " in printed.err
    rows = [line.split()[:-1] for line in known.splitlines() if line.strip().endswith("issued")]
    shown = [line.split() for line in printed.out.splitlines()]
    assert rows
    assert all([*row, "unknown"] in shown for row in rows)


def test_a_file_that_was_changed_is_not_downloaded(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = folder / "statements/2026-10/42/GBP/statement.json"
    sealed = changed.read_bytes()
    changed.write_bytes(sealed.replace(b"1.25", b"1.24"))
    try:
        assert main(["statements", str(folder), "--period", "2026-10", "--out", str(tmp_path)]) == 2
    finally:
        changed.write_bytes(sealed)
    assert "2026-10/42/GBP/statement.json is not the file that was sealed" in capsys.readouterr().err


@pytest.fixture
def month_end() -> Iterator[World]:
    """A system as ``quarterhour up`` runs it: October is sealed up to its cut-off, and not sealed."""
    clock = ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC))
    with using(clock), open_stack("embedded", virtual=True, plain=True) as stack:
        world = World(stack, clock)
        world.sell("10.00")
        world.pass_time(days=5)
        world.report()
        yield world


def put(url: str, path: str, content: dict[str, Any]) -> None:
    status, answer = Remote(url).put(path, {"seen": 0, "content": content})
    assert status == 201, answer


def printed_lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line.rstrip() for line in capsys.readouterr().out.splitlines()]


@pytest.mark.slow
def test_an_operator_runs_downloads_and_opens_statements_of_a_stack(
    month_end: World, tmp_path: Path, browser: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(month_end) as url:
        put(url, "/documents/owner", OWNER)
        put(url, "/agencies/42", registered())
        assert main(["statements", "--url", url]) == 2
        assert "no period is sealed yet" in capsys.readouterr().err
        assert main(["statements", "--url", url, "--run", "--period", "2026-10"]) == 0
        assert printed_lines(capsys) == ["2026-10 is sealed", "1 draft made, 1 document released"]
        assert main(["statements", "--url", url, "--open", "--out", str(tmp_path)]) == 0
        page = tmp_path / "statements/2026-10/42/GBP/statement.html"
        assert browser == [page.as_uri()]
        assert json.loads(page.with_name("statement.json").read_bytes())["closing"] == "1.25"
        status = {"status": "accepted", "reason": "the agency has agreed by mail", "seen": 0}
        assert Remote(url).put("/statements/42/GBP/2026-10/status", status)[0] == 200
        capsys.readouterr()
        assert main(["statements", "--url", url, "--agency", "42"]) == 0
        assert ["S-000001", "42", "GBP", "10.00", "1.25", "0.00", "0.00", "0", "1.25", "accepted"] in [
            line.split() for line in printed_lines(capsys)
        ]
        assert main(["statements", "--url", url, "--run", "--period", "2026-10"]) == 2
        assert "2026-10 is sealed already" in capsys.readouterr().err
        assert main(["statements", "--url", url, "--run", "--period", "2026-11"]) == 2
        assert "2026-11 is open until its cut-off" in capsys.readouterr().err


@pytest.mark.slow
def test_an_operator_releases_holds_and_cancels(month_end: World, capsys: pytest.CaptureFixture[str]) -> None:
    with serving(month_end) as url:

        def decide(*arguments: str, code: int = 0) -> list[str]:
            assert main(["statements", "--url", url, *arguments]) == code
            return printed_lines(capsys)

        of_month = ("--period", "2026-10")
        assert decide("--run") == ["2026-10 is sealed", "1 draft made, 0 documents released"]
        assert decide() == ["no statement is released yet: --drafts lists what waits, and why"]
        shown = decide("--drafts")
        assert shown[-4].split()[:7] == ["2026-10", "42", "GBP", "10.00", "1.25000", "0", "open"]
        assert [line.strip().partition(": ")[2] for line in shown[-3:-1]] == [
            "the agency is not registered at the end of 2026-10: register it",
            "the agency has no tax profile on 2026-10-30: register one valid from then on",
        ]
        (refused,) = decide("--release", code=1)
        assert refused.startswith("42 GBP 2026-10: refused: the owner lacks legal_name, address, country")
        assert refused.endswith("register one valid from then on")
        put(url, "/documents/owner", OWNER)
        put(url, "/agencies/42", registered())

        assert decide("--hold", "42", "--reason", "asks for its rate", *of_month) == ["42 GBP 2026-10: is held"]
        assert decide("--release", *of_month, code=1) == [
            "42 GBP 2026-10: refused: it is held: asks for its rate: name the agency to release it"
        ]
        assert decide("--release", "42") == ["42 GBP 2026-10: is being released", "release 1: 1 document"]
        assert decide("--release", *of_month) == ["no draft is without a statement for 2026-10"]
        assert decide("--drafts") == ["no draft is without a statement"]

        cancelled = decide("--cancel", "42", "--reason", "wrong name", *of_month, "--json")
        assert json.loads("\n".join(cancelled)) == {
            "decided": [
                {
                    "period": "2026-10",
                    "agency": "42",
                    "currency": "GBP",
                    "decision": "cancel",
                    "state": "cancelling",
                    "refused": None,
                    "warnings": [],
                }
            ],
            "releases": [2],
            "documents": 1,
        }
        assert decide("--release", "42", *of_month)[-1] == "release 3: 1 document"
        numbers = [line.split() for line in decide(*of_month) if "42" in line.split()]
        assert [(row[0], row[5], row[8], " ".join(row[9:])) for row in numbers] == [
            ("S-000001", "0.00", "1.25", "cancelled"),
            ("C-000001", "0.00", "0.00", "cancels S-000001"),
            ("S-000002", "0.00", "1.25", "issued"),
        ]
        for arguments, why in (
            (("--release", "43"), "there is no draft without a statement of 43"),
            (("--cancel", "43", "--reason", "x", *of_month), "there is no statement of 43 for 2026-10"),
            (("--hold", "42", "--reason", "x", *of_month), "there is no draft without a statement of 42 for 2026-10"),
        ):
            assert main(["statements", "--url", url, *arguments]) == 2
            assert why in capsys.readouterr().err


@pytest.mark.slow
def test_a_release_waits_for_the_watch_if_the_function_cannot_be_invoked(
    month_end: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused(*_: Any) -> Any:
        raise ToolError("Statements could not be invoked: AccessDenied")

    with serving(month_end) as url:
        assert main(["statements", "--url", url, "--run"]) == 0
        put(url, "/documents/owner", OWNER)
        put(url, "/agencies/42", registered())
        capsys.readouterr()
        monkeypatch.setattr(drafts, "invoke", refused)
        assert main(["statements", "--url", url, "--release"]) == 0
        printed = capsys.readouterr()
        assert printed.out.splitlines() == ["42 GBP 2026-10: is being released"]
        assert "the watch releases within 15 minutes, as Statements could not be invoked: AccessDenied" in printed.err
        monkeypatch.undo()
        deployment.invoke(Namespace(url=url), "Watch", {})
        assert main(["statements", "--url", url, "--json"]) == 0
        assert [one["number"] for one in json.loads(capsys.readouterr().out)] == ["S-000001"]


@pytest.mark.slow
def test_a_first_person_proposes_a_release(capsys: pytest.CaptureFixture[str]) -> None:
    clock = ManualClock(datetime(2026, 10, 30, 12, tzinfo=UTC))
    with using(clock), open_stack("embedded", virtual=True, plain=True, settings={"approvals": 2}) as stack:
        world = World(stack, clock)
        world.sell("10.00")
        world.pass_time(days=5)
        world.report()
        with serving(world) as url:
            assert main(["statements", "--url", url, "--run"]) == 0
            put(url, "/documents/owner", OWNER)
            put(url, "/agencies/42", registered())
            capsys.readouterr()
            assert main(["statements", "--url", url, "--release"]) == 0
            assert printed_lines(capsys) == [
                "42 GBP 2026-10: release is proposed: a second person must decide the same"
            ]
            assert main(["statements", "--url", url, "--release"]) == 1
            assert printed_lines(capsys)[0].endswith(
                "refused: the draft of '42' in GBP for 2026-10: a second person must agree"
            )


@pytest.mark.slow
def test_versions_of_an_agency_are_written_at_their_time_in_a_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, agencies, owner = (tmp_path / name for name in ("events.ndjson", "agencies.ndjson", "owner.json"))
    sales = [at("2026-10-05T12:00:00Z", "100.00"), at("2026-10-26T12:00:00Z", "60.00")]
    file.write_bytes(b"".join(lines([*sales, at("2026-11-10T12:00:00Z", "7.00", "late")])))
    standard = registered({"scheme": "standard", "percent": "21"}, legal_name="Old Name B.V.", country="NL")
    reverse = {"scheme": "reverse_charge", "vat_id": "NL004495445B01"}
    changed = registered(reverse, legal_name="New Name B.V.", country="NL")
    rows = (
        {"agency": "42", **standard, "valid_from": "2026-01-01T00:00:00Z"},
        {"agency": "42", **changed, "valid_from": "2026-11-01T00:00:00Z", "registered_at": "2026-10-25T09:00:00Z"},
        {"agency": "late", **changed, "registered_at": "2026-12-03T09:00:00Z"},
    )
    agencies.write_text("".join(f"{json.dumps(one)}\n" for one in rows), "utf-8")
    owner.write_text(json.dumps({**OWNER, "country": "JE"}), "utf-8")
    replay = ["replay", str(file), "--statements", "--agencies", str(agencies), "--owner", str(owner), "--json"]
    assert main([*replay, "--rate", "rate(1 day)", "--out", str(tmp_path / "out")]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(one["agency"], one["period"], one["tax"]) for one in found["statements"]] == [
        ("42", "2026-10", "4.20"),
        ("late", "2026-11", "0.00"),
    ]
    statement = json.loads((tmp_path / "out/statements/2026-10/42/GBP/statement.json").read_bytes())
    assert statement["customer"]["legal_name"] == "Old Name B.V."


# ---------------------------------------------------------------- the independent computation


def retail_file(path: Path) -> None:
    """Write three months of made-up retail lines: sales, cancellations, bad debt, odd prices."""
    rng = Random(12)  # noqa: S311 - the same file each time
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["InvoiceNo", "StockCode", "Description", "Quantity", "InvoiceDate", "UnitPrice", "CustomerID", "Country"]
        )
        time = datetime(2011, 1, 29, 8, tzinfo=UTC)
        for number in range(150):
            time += timedelta(minutes=rng.randrange(1_000))
            kind = rng.choice(["", "", "", "", "", "C", "A"])
            quantity = -rng.randrange(1, 9) if kind == "C" else rng.choice([1, 2, 6, 12, -3])
            price = f"{rng.randrange(5_000) / 1000:.3f}"
            country = rng.choice(["United Kingdom", "EIRE", "Norway", "Germany", "Lebanon"])
            writer.writerow(
                [f"{kind}{5000 + number}", "P", 'a, "b"', quantity, f"{time:%Y-%m-%d %H:%M:%S}", price, "17.0", country]
            )


def hotel_file(path: Path) -> None:
    """Write some months of made-up bookings, of several currencies, some cancelled."""
    rng = Random(3)  # noqa: S311 - the same file each time
    names = (
        *("hotel", "is_canceled", "lead_time", "arrival_date_year", "arrival_date_month", "arrival_date_day_of_month"),
        *("stays_in_weekend_nights", "stays_in_week_nights", "meal", "country", "market_segment"),
        *("reserved_room_type", "agent", "customer_type", "adr", "reservation_status", "reservation_status_date"),
    )
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        for _ in range(240):
            lead, arrival = rng.randrange(40), datetime(2015, 6, 1, tzinfo=UTC) + timedelta(days=rng.randrange(60))
            cancelled = rng.random() < 0.3
            closed = arrival - timedelta(days=rng.randrange(lead + 1) if cancelled else -3)
            booked = arrival - timedelta(days=lead)
            late = "11" if booked < datetime(2015, 7, 1, tzinfo=UTC) else "7"  # both are registered on 20 July
            writer.writerow(
                {
                    "hotel": "City Hotel",
                    "is_canceled": int(cancelled),
                    "lead_time": lead,
                    "arrival_date_year": arrival.year,
                    "arrival_date_month": f"{arrival:%B}",
                    "arrival_date_day_of_month": arrival.day,
                    "stays_in_weekend_nights": rng.randrange(3),
                    "stays_in_week_nights": rng.randrange(5),
                    "meal": "BB",
                    "country": rng.choice(["PRT", "PRT", "GBR", "USA", "JPN", "TUN", "NULL"]),
                    "market_segment": rng.choice(["Online TA", "Groups", "Offline TA/TO"]),
                    "reserved_room_type": "A",
                    "agent": rng.choice([late, "8", "9", "14", "14", "26", "26", "NULL"]),
                    "customer_type": rng.choice(["Transient", "Transient", "Transient-Party"]),
                    "adr": f"{rng.randrange(20_000) / 100:.2f}",
                    "reservation_status": "Canceled" if cancelled else "Check-Out",
                    "reservation_status_date": f"{closed:%Y-%m-%d}",
                }
            )


RATES = """date,currency,units_per_eur
2015-01-02,GBP,0.7812
2015-01-02,USD,1.2043
2015-01-02,JPY,144.87
2015-06-12,GBP,0.7237
"""


def script(name: str, *arguments: str, text: str = "") -> tuple[int, str]:
    """Run a script of the examples; return its exit code and what it printed."""
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    ended = subprocess.run(command, input=text, capture_output=True, text=True, check=False)  # noqa: S603
    assert not ended.stderr
    return ended.returncode, ended.stdout


def converted(file: Path, mapping: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["csv", str(file), "--map", str(EXAMPLES / mapping)]) == 0
    return capsys.readouterr().out


@pytest.mark.slow
def test_the_statements_of_a_retailer_equal_an_independent_computation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, events, out = tmp_path / "retail.csv", tmp_path / "events.ndjson", tmp_path / "out"
    retail_file(file)
    events.write_text(converted(file, "online_retail.toml", capsys), "utf-8")
    agencies = str(EXAMPLES / "retail_agencies.ndjson")
    replay = ["replay", str(events), "--statements", "--agencies", agencies, "--owner", OWNER_FILE]
    settings = tmp_path / "settings.json"
    settings.write_text('{"time_zone": "Europe/London"}')
    replay += ["--settings", str(settings)]
    assert main([*replay, "--rate", "rate(1 day)", "--out", str(out), "--json"]) == 0
    printed = tmp_path / "printed.json"
    printed.write_text(capsys.readouterr().out, "utf-8")
    truth = ["retail", str(file), "--agencies", agencies, "--owner", OWNER_FILE]
    expected = json.loads(script("statements_truth.py", *truth)[1])
    assert [one["checks"] for one in expected["drafts"]][:2] == [["agency", "tax"], ["order", "agency", "tax"]]
    for compared in (out, printed):
        code, said = script("statements_truth.py", *truth, "--compare", str(compared))
        assert (code, said) == (0, "12 statements, 3 drafts without one, 0 differences\n")

    changed = json.loads(printed.read_text("utf-8"))
    changed["statements"][3]["tax"] = "0.01"
    del changed["statements"][4]
    changed["drafts"][0]["checks"] = []
    del changed["drafts"][1]
    printed.write_text(json.dumps(changed), "utf-8")
    code, said = script("statements_truth.py", *truth, "--compare", str(printed))
    assert (code, said.splitlines()[-1]) == (1, "12 statements, 3 drafts without one, 4 differences")

    code, said = script("statements_truth.py", *truth[:-2], "--compare", str(out))
    assert (code, said.splitlines()[-1]) == (1, "0 statements, 15 drafts without one, 24 differences")


@pytest.mark.slow
def test_the_statements_of_hotels_equal_an_independent_computation(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, events, out = tmp_path / "hotel.csv", tmp_path / "events.ndjson", tmp_path / "out"
    agencies, rates = tmp_path / "agencies.ndjson", tmp_path / "rates.csv"
    hotel_file(file)
    rates.write_text(RATES, "utf-8")
    agencies.write_text(script("hotel_agencies.py", "--history", text=file.read_text("utf-8"))[1], "utf-8")
    events.write_text(script("by_time.py", text=converted(file, "hotel_statements.toml", capsys))[1], "utf-8")
    replay = ["replay", str(events), "--statements", "--agencies", str(agencies), "--rates", str(rates)]
    owner = tmp_path / "owner.json"
    # The VAT rates of Jersey are not known: the profiles of these agencies are made up.
    owner.write_text(json.dumps({**json.loads(Path(OWNER_FILE).read_text("utf-8")), "country": "JE"}))
    replay += [
        "--owner",
        str(owner),
        "--rate-cards",
        str(EXAMPLES / "hotel_rate_cards"),
        "--rate",
        "rate(1 day)",
        "--out",
        str(out),
    ]
    settings = tmp_path / "settings.json"
    settings.write_text('{"time_zone": "Europe/Lisbon", "base_currency": "EUR", "rounding": "half-up"}')
    assert main([*replay, "--settings", str(settings)]) == 0
    truth = ["hotel", str(file), "--agencies", str(agencies), "--rates", str(rates), "--rounding", "half-up"]
    truth += ["--owner", str(owner)]
    both = json.loads(script("statements_truth.py", *truth)[1])
    expected, drafts_ = both["statements"], both["drafts"]
    assert {one["agency"] for one in drafts_} == {"direct", "11"}, "the lines of 11 begin before its registration"
    assert "7" in {one["agency"] for one in expected}
    assert {one["number"][0] for one in expected} == {"S", "C"}
    assert any(one["prior_period_lines"] for one in expected)
    made = [json.loads(one.read_text("utf-8")) for one in out.glob("statements/*/*/*/statement.json")]
    assert any(one["base"]["missing"] for one in made)
    assert any(len(one["taxes"]) > 2 for one in made), "several profiles on one statement"
    assert any("category" in span for one in made for row in one["taxes"] for span in row["tax_points"])
    assert {one["collects"] for one in made} == {"agency", "marketplace"}
    assert any(one["tax_in"] and float(one["tax_in"]["tax"]) for one in made)
    journal = journal_entries(
        [with_lines(Folder(out), StatementDocument.parse(one), kinds=False) for one in made], accounts()
    )
    assert not journal.problems
    assert {one.role for one in journal.entries} == {"receivable", "payable"}
    code, said = script("statements_truth.py", *truth, "--compare", str(out))
    assert (code, said) == (0, f"{len(expected)} statements, {len(drafts_)} drafts without one, 0 differences\n")
