"""Operator commands against a server of `replay --open`: a history of one's own is exported, paid and booked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.cli import main
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.emulator.stack import Stack
from quarterhour_tools.replay import command
from tests.support.repository import ROOT

ACCOUNTS = str(ROOT / "examples" / "accounting" / "accounts.toml")


def sale(id_: str, month: str) -> dict[str, Any]:
    """Return a sale of 100.00 at 10 %."""
    data = {"amount": "100.00", "currency": "EUR", "commission_rate": "0.1"}
    common = {"specversion": "1.0", "source": "shop", "type": "sale.recorded", "subject": "42"}
    return {**common, "id": id_, "time": f"{month}-05T10:00:00Z", "data": data}


@pytest.fixture
def replay(tmp_path: Path) -> list[str]:
    """The arguments that replay two months of an agency, for which the marketplace collects."""
    events = [sale("1", "2026-08"), sale("2", "2026-09"), sale("3", "2026-10")]
    party = {"country": "NL", "address": "Dam 1\n1012 JS Amsterdam", "iban": "NL91ABNA0417164300"}
    agency = {"agency": "42", **party, "legal_name": "Harbour", "collects": "marketplace"}
    owner = {**party, "legal_name": "Market B.V.", "vat_id": "NL004495445B01"}
    files = {
        "events.ndjson": "".join(f"{json.dumps(one)}\n" for one in events),
        "agencies.ndjson": json.dumps({**agency, "tax": {"scheme": "standard", "percent": "21"}}),
        "owner.json": json.dumps(owner),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    names = [str(tmp_path / name) for name in files]
    more = ["--agencies", names[1], "--owner", names[2], "--rate", "rate(1 day)", "--port", "0"]
    return ["replay", names[0], "--statements", "--open", "--no-browser", *more]


@pytest.mark.slow
def test_every_operator_command_works_against_a_history_of_ones_own(
    replay: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []

    def serve(server: Server, stack: Stack, at: Any, *_: Any, **__: Any) -> None:
        with server.serving(stack):
            done.extend(_run_all(["--url", server.url], tmp_path, f"{at:%Y-%m-%d}", capsys))

    monkeypatch.setattr(command, "serve_from", serve)
    assert main(replay) == 0
    assert done == [*COMMANDS]


def _run_all(where: list[str], out: Path, today: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    done = []
    for name, arguments in COMMANDS.items():
        capsys.readouterr()
        code = main([*name.split(), *where, *arguments(out, today)])
        printed = capsys.readouterr()
        assert code == 0, (name, printed)
        done.append(name)
    assert (out / "payouts.xml").read_bytes().count(b"<CdtTrfTxInf>") == 2
    return done


COMMANDS: dict[str, Callable[[Path, str], list[str]]] = {
    "statements": lambda out, _: ["--period", "2026-09", "--out", str(out / "documents")],
    "vat": lambda *_: ["--period", "2026-09"],
    "journal": lambda out, _: ["--period", "2026-09", "--accounts", ACCOUNTS, "--out", str(out / "journal.csv")],
    "dac7": lambda out, _: ["--year", "2026", "--partial", "--out", str(out / "dac7.csv")],
    "payouts": lambda out, _: ["--name", "p1", "--date", "2027-01-04", "--out", str(out / "payouts.xml")],
    "held list": lambda *_: [],
}
