"""Commands that record events themselves: what has no answer, or is unavailable, is sent again until it is recorded."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quarterhour_tools.accounting import payouts
from quarterhour_tools.bucket import Folder
from quarterhour_tools.cli import main
from tests.e2e.test_payouts import command, credit
from tests.e2e.test_rerate import BECAUSE, SPAN, serving
from tests.handlers.test_rate_cards import keep
from tests.handlers.test_statements import record
from tests.support import misbehaving
from tests.support.accounting import write_period
from tests.support.bank_files import camt, entry
from tests.support.events import sale
from tests.support.misbehaving import forwarded, response
from tests.support.requests import post
from tests.support.stored_statements import end_of_october, register, seal_statements
from tests.support.system import World, opened
from tests.support.tables import ledger

FAULTS = ("a shorter answer", "all unavailable", "one unavailable", "no answer")


@contextmanager
def unreliable(world: World, fault: str) -> Iterator[str]:
    """Serve a system whose first answer to ``POST /events`` has a fault; yield its address."""
    left = [fault]
    with serving(world) as url:

        def reply(connection: socket.socket, request: bytes) -> None:
            if not request.startswith(b"POST /events ") or not left:
                connection.sendall(forwarded(url, request))
                return
            left.clear()
            head, _, body = request.partition(b"\r\n\r\n")
            events = json.loads(body)
            taken = json.dumps(events[:1]).encode()
            rows = [row for row in head.split(b"\r\n") if not row.lower().startswith(b"content-length")]
            request = b"\r\n".join([*rows, b"content-length: %d" % len(taken), b"", taken])
            answered = (
                json.loads(forwarded(url, request).partition(b"\r\n\r\n")[2]) if json.loads(taken) else {"items": []}
            )
            if fault == "no answer":
                misbehaving.reset(connection)
                return
            if fault != "a shorter answer":
                answered["items"] += [
                    {"index": at, "source": one["source"], "id": one["id"], "verdict": "unavailable", "errors": []}
                    for at, one in enumerate(events[len(answered["items"]) :], len(answered["items"]))
                ]
            connection.sendall(response("207 Multi-Status", json.dumps(answered).encode()))

        with misbehaving.serving(reply) as address:
            yield address


@pytest.mark.parametrize("fault", FAULTS)
def test_each_certain_payment_of_a_banks_file_is_recorded(
    fault: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bank.xml"
    paid = [entry(amount, "S-000001", currency="GBP", reference=amount) for amount in ("20.00", "30.00")]
    file.write_bytes(camt(*paid, closing="150.00"))
    with end_of_october() as world:
        register(world, "42", scheme="standard", percent="21")
        record(world, "sale.recorded", "a1", "1000", commission_rate="0.1")
        seal_statements(world)
        with unreliable(world, fault) as url:
            assert main(["payments", str(file), "--url", url, "--record"]) == 0, capsys.readouterr()
        # Two requests of one millisecond are ordered by their hashes.
        amounts = sorted(item["amount"] for item in ledger(world) if item["type"] == "payment.recorded")
        assert amounts == ["20.00", "30.00"]
    assert "payments: " in capsys.readouterr().out


@pytest.mark.parametrize("fault", FAULTS)
def test_each_payout_of_a_run_is_recorded_before_it_is_in_the_file(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sealed, out = tmp_path / "sealed", tmp_path / "payouts.xml"
    write_period(sealed, [credit("42", "S-000001"), credit("43", "S-000002")])
    monkeypatch.setattr(payouts, "sealed_files", lambda _: Folder(sealed))
    with opened() as world, unreliable(world, fault) as url:
        assert main(command(["--url", url], out, day="2026-10-24")) == 0
        assert sorted(item["id"] for item in ledger(world)) == ["payout-S-000001", "payout-S-000002"]
    assert out.read_bytes().count(b"<CdtTrfTxInf>") == 2


@pytest.mark.parametrize("fault", FAULTS)
def test_each_adjustment_of_a_re_rating_is_posted(fault: str, capsys: pytest.CaptureFixture[str]) -> None:
    with opened() as world:
        keep(world, 0, {"percent": "10"})
        post(world, [sale("s1", "100"), sale("s2", "100")])
        keep(world, 1, {"percent": "20"})
        with unreliable(world, fault) as url:
            assert main(["rerate", "--rate-card", "rate-card:42", *SPAN, "--url", url, *BECAUSE]) == 0
        adjustments = [item for item in ledger(world) if item["type"] == "adjustment.recorded"]
    assert len(adjustments) == 2
    assert "2 adjustments posted" in capsys.readouterr().out
