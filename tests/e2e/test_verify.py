"""`quarterhour verify` on the files of a deployed stack: reports and statements, from the bucket and from a folder."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from http import HTTPStatus
from pathlib import Path

import pytest

from quarterhour_tools.cli import main
from quarterhour_tools.emulator.direct import REGION
from quarterhour_tools.emulator.http_api import Request
from quarterhour_tools.target import deployment
from tests.support.agencies import OWNER, tax
from tests.support.events import payment
from tests.support.requests import events_request
from tests.support.system import World, opened

AFTER_CUT_OFF = datetime(2026, 11, 4, 0, 5, tzinfo=UTC)


@pytest.fixture(scope="module")
def sealed() -> Iterator[World]:
    """Two months with statements, of which one is cancelled and made again."""
    with opened({"first_period": "2026-10"}, start=datetime(2026, 10, 31, 22, 0, tzinfo=UTC)) as world:
        world.write("/documents/owner", OWNER)
        for agency in ("42", "7"):
            world.write(f"/agencies/{agency}", tax(scheme="exempt", percent=None, vat_id=None))
        world.sell("10.00", product="café")
        world.sell("-3.00", agency="7")
        world.pass_time(hours=1)
        assert world.stack.request(events_request(payment("p1", "1.00"))).json()["items"][0]["verdict"] == "recorded"
        for month, statements in ((11, 2), (12, 1)):
            world.clock.advance_to(AFTER_CUT_OFF.replace(month=month))
            world.sell("5.55")
            world.pass_time(minutes=40)
            while not world.report()["complete"]:
                pass
            sealed = world.stack.invoke("statements", {})
            assert (sealed["periods"], sealed["documents"]) == ([f"2026-{month - 1}"], statements)
            world.drain()
        for seen, decision in ((2, "cancel"), (4, "release")):
            path, body = "/drafts/42/GBP/2026-11", {"decision": decision, "reason": "a wrong name", "seen": seen}
            headers = (("content-type", "application/json"), ("host", "localhost"))
            request = Request("PUT", path, headers=headers, body=json.dumps(body).encode())
            assert world.stack.request(request).status == HTTPStatus.OK
            world.drain()
            assert world.stack.invoke("statements", {})["documents"] == 1
        yield world


@pytest.fixture
def copy(sealed: World, tmp_path: Path) -> Path:
    """A copy of the bucket."""
    sealed.stack.bucket.copy_to(tmp_path)
    return tmp_path


def test_a_stack_s_files_are_proven_from_its_bucket(
    sealed: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"ACCESS_KEY_ID": "local", "SECRET_ACCESS_KEY": "local", "DEFAULT_REGION": REGION}.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    outputs = {("it", "ReportBucketName"): sealed.stack.ref("ReportBucket")}
    monkeypatch.setattr(deployment, "deployed", lambda stack, output: outputs[stack, output])
    assert main(["verify", "--stack", "it"]) == 0
    shown = capsys.readouterr().out
    assert "2 periods sealed: 4 lines, 3 drafts, 3 statements\n4 releases of 5 documents, 0 drafts without" in shown
    assert "proven" in shown


def test_a_copy_is_proven_until_a_statement_is_changed(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(copy), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["periods"], result["statements"], result["statement_lines"], result["proven"]) == (2, 3, 4, True)
    assert (result["drafts"], result["drafts_without_statement"]) == (3, 0)
    assert (result["releases"], result["documents"]) == (4, 5)
    statement = copy / "statements/2026-10/42/GBP/statement.json"
    statement.write_text(statement.read_text("utf-8").replace('"closing": "0.25"', '"closing": "0.24"'), "utf-8")
    assert main(["verify", str(copy)]) == 1
    shown = capsys.readouterr()
    assert "NOT proven" in shown.out
    assert "statements/2026-10/42/GBP/statement.json: closing: expected 0.25, found 0.24" in shown.err


def test_a_statement_that_no_manifest_covers_is_not_proven(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (copy / "statements/2026-11/manifest.json").unlink()
    assert main(["verify", str(copy)]) == 1
    shown = capsys.readouterr()
    assert "NOT proven" in shown.out
    assert "statements/2026-11/manifest.json: is missing, so 12 files of 2026-11 are in no list" in shown.err


def test_one_statement_is_proven_by_itself(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copy / "statements/2026-11/42/GBP"
    assert main(["verify", "--statement", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "of 42#GBP for 2026-11: 1 line, closing balance" in shown
    assert "Not checked" in shown
    cancellation = folder / "2"
    assert main(["verify", "--statement", str(cancellation)]) == 0
    assert "of 42#GBP for 2026-11: 1 line, closing balance" in capsys.readouterr().out
    (folder / "lines.csv.gz").unlink()
    assert main(["verify", "--statement", str(cancellation)]) == 1
    assert "lines.csv.gz: is missing" in capsys.readouterr().err
    assert main(["verify", "--statement", str(folder), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert (result["consistent"], result["problems"]) == (False, ["lines.csv.gz: is missing"])


def test_the_lines_of_a_proof_are_the_same_in_a_narrow_terminal(
    copy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = []
    for columns in ("20", "200"):
        monkeypatch.setenv("COLUMNS", columns)
        assert main(["verify", str(copy)]) == 0
        assert main(["verify", "--statement", str(copy / "statements/2026-10/42/GBP")]) == 0
        shown.append(capsys.readouterr().out.splitlines())
    assert shown[0] == shown[1]
    assert "2 periods sealed: 4 lines, 3 drafts, 3 statements" in shown[0]
