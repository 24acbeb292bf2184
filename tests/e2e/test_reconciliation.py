"""Every command of the page "Reconciliation", on a stack over HTTP: compared, reviewed, sent twice, and kept."""

import re
import shlex
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest

from quarterhour_tools.bucket import Bucket
from quarterhour_tools.cli import main
from quarterhour_tools.reconciliation import command
from tests.e2e.test_rerate import serving
from tests.support.repository import ROOT
from tests.support.requests import post, verdicts
from tests.support.system import World, opened

pytestmark = pytest.mark.slow
PAGE: Final = (ROOT / "docs" / "reconciliation.md").read_text("utf-8")
COMMANDS: Final = [
    shlex.split(line)
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for line in re.sub(r"\\\n\s*", " ", block).splitlines()
]
ADDRESS: Final = "http://127.0.0.1:8080"
SALES: Final = (
    ("41", "order-1", "120.00", "2.05"),
    ("42", "order-2", "35.00", "0.50"),
    ("43", "order-4", "9.00", "0.30"),
)


def record(world: World) -> None:
    """Record what the ledger has of the example's month, and seal it."""
    events = [
        {
            "specversion": "1.0",
            "source": "shop",
            "id": order,
            "type": "sale.recorded",
            "subject": agency,
            "data": {"amount": amount, "currency": "EUR", "order_id": order, "extra": {"fee": fee}},
        }
        for agency, order, amount, fee in SALES
    ]
    assert verdicts(post(world, events)) == ["recorded"] * len(events)
    seal(world)


def seal(world: World) -> None:
    world.pass_time(hours=2)
    world.drain()
    world.report()


def test_every_command_of_the_page_runs_and_its_proposals_are_recorded_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    with opened(start=datetime(2026, 11, 20, 12, tzinfo=UTC)) as world:
        bucket = Bucket(world.stack.engine.s3(), world.stack.ref("ReportBucket"))
        monkeypatch.setattr(command, "sealed_files", lambda _: bucket)
        record(world)
        shown = []
        with serving(world) as url:
            for name, *arguments in COMMANDS:
                if name == "cp":
                    shutil.copy(*arguments)
                    continue
                assert name == "quarterhour"
                code = main([url if one == ADDRESS else one for one in arguments])
                shown.append(capsys.readouterr())
                assert code == (1 if arguments[0] == "reconcile" else 0), shown[-1]
            compared, sent = shown
            assert "\n".join(map(str.rstrip, compared.out.splitlines())).strip("\n") in PAGE
            assert "2 recorded" in sent.out
            assert main(["send", "reviewed.ndjson", "--url", url, "--receipts", "again.receipts"]) == 0
            assert "2 duplicate" in capsys.readouterr().out
        seal(world)
        with serving(world) as url:
            assert main([url if one == ADDRESS else one for one in COMMANDS[0][1:]]) == 1
        assert "3 matched, 1 not matched, 0 proposals" in capsys.readouterr().out
        kept = world.read("/documents/reconciliation%3A2026-11%3Aharbour")
        assert (kept["version"], kept["content"]["difference_count"]) == (2, 1)
    assert (tmp_path / "november" / "proposals.ndjson").read_bytes() == b""
