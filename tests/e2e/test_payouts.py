"""Payouts: recorded in the ledger before the file is written, once for each statement, by whichever run comes first."""

import csv
import gzip
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import httpx
import pytest
from quarterhour_client import sender
from quarterhour_client.plan import batches

from quarterhour.model.clock import ManualClock, using
from quarterhour.reports.lines import COLUMNS
from quarterhour_tools.accounting import payouts
from quarterhour_tools.bucket import Bucket, Folder
from quarterhour_tools.cli import main
from quarterhour_tools.target import remote
from quarterhour_tools.target.remote import Remote, segment
from tests.e2e.test_rerate import serving
from tests.handlers.test_statements import record
from tests.support.accounting import CUSTOMER, OWNER, content, write_period
from tests.support.agencies import tax
from tests.support.stored_statements import end_of_october, seal_statements
from tests.support.system import World, opened

SOURCE = segment("quarterhour/payouts")
OLD_IBAN, NEW_IBAN = "PL61109010140000071219812874", "PL27114020040000300201355387"


def credit(agency: str, number: str, **changed: Any) -> dict[str, Any]:
    """Return a statement whose agency is owed 881.00."""
    return content(agency=agency, number=number, **{"collects": "marketplace", "proceeds": "1000.00", **changed})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The sealed files of a period: two credits that can be paid, one below the minimum, one without an IBAN."""
    sealed = tmp_path / "sealed"
    small = credit("44", "S-000003", proceeds="129.00")
    unknown = credit("45", "S-000004", customer={**CUSTOMER, "iban": None})
    write_period(sealed, [credit("42", "S-000001"), credit("43", "S-000002"), small])
    write_period(sealed, [{**unknown, "period": "2026-12"}], "2026-12")
    return sealed


@pytest.fixture(autouse=True)
def on_the_fifth_of_december() -> Iterator[None]:
    """Commands that read a folder run on this day."""
    with using(ManualClock(datetime(2026, 12, 5, 12, tzinfo=UTC))):
        yield


def seal_lines(folder: Path, *payments: tuple[str, str]) -> None:
    """Write the sealed lines of the quarter-hour before the system starts: payments to the agency 42 by their ids."""
    file = folder / "ledger/dt=2026-10-23/quarter=0115/lines.csv.gz"
    file.parent.mkdir(parents=True)
    text = StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, restval="")
    writer.writeheader()
    common = {"source": "bank", "type": "payment.recorded", "agency": "42", "currency": "EUR", "period": "2026-12"}
    writer.writerows({**common, "id": id_, "amount": amount} for id_, amount in payments)
    file.write_bytes(gzip.compress(text.getvalue().encode()))


@pytest.fixture
def world() -> Iterator[World]:
    """A system without events."""
    with opened() as world:
        yield world


def command(where: list[str], out: Path, name: str = "run-1", day: str = "2026-12-07") -> list[str]:
    return ["payouts", *where, "--name", name, "--date", day, "--minimum", "25", "--out", str(out)]


@contextmanager
def stack(world: World, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve a system whose sealed files are those of the folder; yield its address."""
    monkeypatch.setattr(payouts, "sealed_files", lambda _: Folder(folder))
    with serving(world) as url:
        yield url


def test_a_folder_makes_a_file_that_is_not_recorded(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "payouts.xml"
    assert main(command([str(folder)], out)) == 1
    printed = capsys.readouterr()
    rows = [line.split() for line in printed.out.splitlines()]
    assert ["S-000001", "42", "EUR", "881.00", "paid"] in rows
    assert ["S-000003", "44", "EUR", "10.00", "left", "out:", "below", "the", "minimum", "of", "25"] in rows
    assert "S-000004 45     EUR      881.00 left out: the agency's registration has no IBAN" in printed.out
    assert f"{out}: 2 transfers, 1762.00 EUR on 2026-12-07" in printed.out
    assert "not recorded, as there is no stack" in printed.err
    assert out.read_bytes().count(b"<CdtTrfTxInf>") == 2
    assert main([*command([str(folder)], out), "--period", "2026-11"]) == 0


def test_the_same_run_again_writes_the_same_file_and_another_run_pays_nothing_twice(
    world: World, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first, again, other = (tmp_path / name for name in ("first.xml", "again.xml", "other.xml"))
    with stack(world, folder, monkeypatch) as url:
        where = ["--url", url]
        assert main(command(where, first)) == 1
        recorded = Remote(url).get(f"/events/{SOURCE}/payout-S-000001", {})
        assert (recorded["type"], recorded["amount"], recorded["reason"]) == (
            *("payment.recorded", "-881.00", "payout run-1"),
        )
        world.clock.advance(timedelta(hours=3))
        assert main(command(where, again)) == 1
        assert again.read_bytes() == first.read_bytes()
        assert f"<CreDtTm>{recorded['recorded_at'][:19]}Z<".encode() in first.read_bytes()
        capsys.readouterr()

        write_period(folder, [credit("42", "S-000001"), credit("43", "S-000002"), credit("46", "S-000005")])
        assert main(command(where, other, "run-2")) == 1
        printed = capsys.readouterr().out
        assert "S-000001 42     EUR      881.00 left out: paid already: payout run-1" in printed
        assert f"{other}: 1 transfer, 881.00 EUR" in printed
        assert main(command(where, tmp_path / "none.xml", day="2026-12-08")) == 1
        printed = capsys.readouterr().out
        assert "left out: this run has paid it on another date" in printed
        assert "nothing is paid: no file is written" in printed
        assert not (tmp_path / "none.xml").exists()


def test_a_run_that_stopped_half_way_writes_what_it_recorded_whatever_has_changed_since(
    world: World, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run dies before it writes the file. Then 100.00 are paid to 42 by hand, and later all that is open.

    No payout is sealed. The day of the payouts passes.
    """
    lost, again = tmp_path / "lost.xml", tmp_path / "again.xml"
    with stack(world, folder, monkeypatch) as url:
        assert main(command(["--url", url], lost, day="2026-10-24")) == 1
        for payments in ([("p1", "-100.00")], [("p1", "-100.00"), ("p2", "-781.00")]):
            shutil.rmtree(folder / "ledger/dt=2026-10-23", ignore_errors=True)
            seal_lines(folder, *payments)
            capsys.readouterr()
            assert main(command(["--url", url], again, day="2026-10-24")) == 1
            assert "S-000001 42     EUR      881.00 paid" in capsys.readouterr().out
            assert again.read_bytes() == lost.read_bytes()
        world.clock.advance(timedelta(days=2))
        assert main(command(["--url", url], again, day="2026-10-24")) == 1
        assert again.read_bytes() == lost.read_bytes()


def test_a_payout_whose_reversal_is_not_sealed_yet_is_left_out_with_that_reason(
    world: World, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seal_lines(folder)
    with stack(world, folder, monkeypatch) as url:
        assert main(command(["--url", url], tmp_path / "first.xml")) == 1
        returned = {"amount": "881.00", "currency": "EUR", "statement": "S-000001"}
        common = {"specversion": "1.0", "source": "bank", "id": "r-9", "type": "payment.recorded", "subject": "42"}
        Remote(url).record([{**common, "data": returned}])
        capsys.readouterr()
        assert main(command(["--url", url], tmp_path / "again.xml", "run-2")) == 1
    printed = capsys.readouterr().out
    assert "paid already: payout run-1; its reversal r-9 is not sealed yet: run the command again after" in printed


def test_a_hold_in_the_registration_keeps_a_payout_back(
    world: World, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with stack(world, folder, monkeypatch) as url:
        held = {"collects": "marketplace", "iban": NEW_IBAN, "payout_hold": "identity not proven"}
        world.write("/agencies/42", held)
        world.write("/agencies/43", {"iban": NEW_IBAN, "collects": "agency"})
        out = tmp_path / "x.xml"
        assert main(command(["--url", url], out)) == 1
        printed = capsys.readouterr().out
        assert (
            "S-000001 42     EUR      881.00 left out: payouts to the agency are held: identity not proven" in printed
        )
        assert out.read_bytes().count(f"<IBAN>{NEW_IBAN}</IBAN>".encode()) == 1, "it has proceeds, whoever collects now"


def test_no_file_is_written_while_the_ledger_is_unavailable(
    world: World, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "payouts.xml"
    answers: list[httpx.Response] = []
    send = httpx.HTTPTransport.handle_request

    def handle(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        return answers[0] if answers and request.method == "POST" else send(transport, request)

    def verdicts(verdict: str) -> httpx.Response:
        return httpx.Response(207, json={"items": [{"index": at, "verdict": verdict} for at in range(2)]})

    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    monkeypatch.setattr(remote, "WITHIN", 0.3)
    with stack(world, folder, monkeypatch) as url:
        answers.append(verdicts("unavailable"))
        assert main(command(["--url", url], out)) == 2
        assert "the ledger is unavailable: no file is written; the same command goes on" in capsys.readouterr().err
        assert not out.exists()
        answers[0] = verdicts("rejected")
        assert main(command(["--url", url], out)) == 1
        assert "left out: rejected" in capsys.readouterr().out
        answers.clear()
        assert main(command(["--url", url], out)) == 1
        assert out.read_bytes().count(b"<CdtTrfTxInf>") == 2
        answers.append(httpx.Response(403, json={"message": "Forbidden"}))
        assert main(command(["--url", url], out)) == 2
        assert "POST /events was answered with 403" in capsys.readouterr().err


class Death(BaseException):
    """A command that is killed."""


@pytest.mark.slow
@pytest.mark.parametrize("death", [(call, is_done) for call in (1, 2) for is_done in (False, True)], ids=str)
def test_a_run_may_die_at_any_call_and_its_repeat_pays_each_statement_once(
    world: World, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, death: tuple[int, bool]
) -> None:
    """Each payout is a request of its own here. ``death``: at which request, and whether it is done by then."""
    out = tmp_path / "payouts.xml"
    send = httpx.HTTPTransport.handle_request
    calls: list[str] = []
    last, is_done = death

    def handle(transport: httpx.HTTPTransport, request: httpx.Request) -> httpx.Response:
        calls.extend([request.method] * (request.method == "POST"))
        is_last = request.method == "POST" and len(calls) == last
        if is_done or not is_last:
            answer = send(transport, request)
            if not is_last:
                return answer
            answer.read()
            answer.close()
        raise Death

    monkeypatch.setattr(sender, "batches", partial(batches, most=1))
    monkeypatch.setattr(httpx.HTTPTransport, "handle_request", handle)
    with stack(world, folder, monkeypatch) as url:
        with pytest.raises(Death):
            main(command(["--url", url], out))
        assert not out.exists()
        world.clock.advance(timedelta(minutes=20))
        assert main(command(["--url", url], out)) == 1
        assert out.read_bytes().count(b"<CdtTrfTxInf>") == 2
        query = {"from": "2026-10-01", "to": "2026-12-31", "type": "payment.recorded"}
        recorded = Remote(url).get("/events", query)["items"]
    assert sorted((one["id"], one["amount"]) for one in recorded) == [
        ("payout-S-000001", "-881.00"),
        ("payout-S-000002", "-881.00"),
    ]


@pytest.mark.slow  # two months, each of which is sealed
def test_each_statement_is_paid_once_and_again_after_its_payout_was_withdrawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """October owes 42 90.00 and November 180.00; 100.00 is then paid by hand, so that 170.00 of November is open."""
    out, agency = tmp_path / "payouts.xml", tax(scheme="exempt", percent=None, vat_id=None)
    with end_of_october() as world:
        bucket = Bucket(world.stack.engine.s3(), world.stack.ref("ReportBucket"))
        monkeypatch.setattr(payouts, "sealed_files", lambda _: bucket)

        def seal() -> None:
            world.drain()
            world.pass_time(hours=1)
            world.report()

        def pay(run: str) -> str:
            capsys.readouterr()
            with serving(world) as url:
                assert main(command(["--url", url], out, run)) == 0
                printed = capsys.readouterr().out
            seal()
            return printed

        world.write("/agencies/42", agency | {"collects": "marketplace", "iban": OLD_IBAN})
        record(world, "sale.recorded", "a1", "100", commission_rate="0.1", currency="EUR")
        seal_statements(world)
        record(world, "sale.recorded", "a2", "200", commission_rate="0.1", currency="EUR")
        world.pass_time(days=31)
        seal_statements(world)
        record(world, "payment.recorded", "by-hand", "-100", currency="EUR")
        seal()

        printed = pay("run-1")
        assert "S-000002 42     EUR      170.00 paid" in printed
        assert "S-000001" not in printed
        assert out.read_bytes().count(b"<EndToEndId>S-000002</EndToEndId>") == 1
        recorded = world.read(f"/events/{SOURCE}/payout-S-000002")
        assert (recorded["amount"], recorded["statement"]) == ("-170.00", "S-000002")
        assert pay("run-1") == printed
        assert pay("run-2").strip() == "nothing is paid: no file is written"
        assert world.read("/receivables")["items"] == []

        first = out.read_bytes()
        record(world, "payment.recorded", "refused-by-bank", "170", currency="EUR", statement="S-000002")
        world.write("/agencies/42", agency | {"collects": "marketplace", "iban": NEW_IBAN}, seen=1)
        assert pay("run-1") == printed
        assert out.read_bytes() == first, "a run that is repeated pays the account by which it went"
        assert "S-000002 42     EUR      170.00 paid" in pay("run-3")
        assert f"<IBAN>{NEW_IBAN}</IBAN>".encode() in out.read_bytes()
        assert OLD_IBAN.encode() not in out.read_bytes()
        assert world.read(f"/events/{SOURCE}/payout-S-000002-2")["reason"] == "payout run-3"
        assert pay("run-4").strip() == "nothing is paid: no file is written"


def test_sealed_lines_that_cannot_be_read_stop_the_run(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "ledger/dt=2026-11-05/quarter=0900/lines.csv.gz"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"no gzip")
    assert main(command([str(folder)], tmp_path / "x")) == 2
    assert "ledger/dt=2026-11-05/quarter=0900/lines.csv.gz cannot be read" in capsys.readouterr().err
    file.rename(folder / "kept")
    old = folder / "ledger/dt=2026-10-05/quarter=0900/lines.csv.gz"
    old.parent.mkdir(parents=True)
    (folder / "kept").rename(old)
    assert main(command([str(folder)], tmp_path / "x")) == 1


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"iban": None}, "the owner has no iban on the statements"),
        ({"legal_name": None}, "the owner has no legal_name on the statements"),
        ({"legal_name": "★"}, "the owner's legal_name has no character that banks take"),
    ],
)
def test_the_owner_has_a_name_and_an_iban(
    changed: dict[str, Any], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_period(tmp_path, [credit("42", "S-000001", owner=OWNER | changed)])
    assert main(command([str(tmp_path)], tmp_path / "x")) == 2
    assert problem in capsys.readouterr().err


def test_the_owner_s_bank_is_in_the_sepa_area(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_period(tmp_path, [credit("42", "S-000001", owner=OWNER | {"iban": "TR330006100519786457841326"})])
    assert main(command([str(tmp_path)], tmp_path / "x")) == 2
    assert "the owner's iban is of TR, which is outside the SEPA area" in capsys.readouterr().err


def test_an_agency_with_a_bank_outside_the_sepa_area_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = credit("43", "S-000002", customer={**CUSTOMER, "iban": "TR330006100519786457841326"})
    write_period(tmp_path, [credit("42", "S-000001"), outside])
    out = tmp_path / "payouts.xml"
    assert main(command([str(tmp_path)], out)) == 1
    assert "881.00 left out: the agency's IBAN is of TR, which is outside the SEPA area" in capsys.readouterr().out
    assert out.read_bytes().count(b"<CdtTrfTxInf>") == 1


@pytest.mark.parametrize(
    ("day", "problem"),
    [
        ("2026-12-04", "--date 2026-12-04 is before today (2026-12-05)"),
        ("2027-12-06", "--date 2027-12-06 is more than 365 days after today (2026-12-05)"),
        ("9999-12-31", "--date 9999-12-31 is more than 365 days after today"),
        ("2026-12-05", ""),
        ("2027-12-05", ""),
    ],
)
def test_the_bank_pays_from_today_to_a_year_from_now(
    day: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_period(tmp_path, [credit("42", "S-000001")])
    assert main(command([str(tmp_path)], tmp_path / "x", day=day)) == (2 if problem else 0)
    assert problem in capsys.readouterr().err
    assert (tmp_path / "x").exists() is not bool(problem)


def test_a_period_is_sealed_and_arguments_are_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    where = command([str(tmp_path)], tmp_path / "x")
    assert main(where) == 2
    assert "no period is sealed yet" in capsys.readouterr().err
    assert main([*where, "--period", "2026-10"]) == 2
    assert "no period up to 2026-10 is sealed" in capsys.readouterr().err
    for option, value in (("--name", "a b"), ("--name", "x" * 36), ("--date", "7 December"), ("--minimum", "-1")):
        with pytest.raises(SystemExit):
            main([*where, option, value])
        assert f"argument {option}: expected" in capsys.readouterr().err
