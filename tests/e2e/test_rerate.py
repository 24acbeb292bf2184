"""Rerating from the command line: shown first, posted once, and the proof still holds."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pytest
from quarterhour_client import sender
from quarterhour_client.plan import batches

from quarterhour.proof.reports import verify
from quarterhour_tools.bucket import Folder
from quarterhour_tools.cli import main
from quarterhour_tools.emulator.server import Server
from quarterhour_tools.operations import rerate
from tests.handlers.test_rate_cards import keep
from tests.support.agencies import tax
from tests.support.events import refund, sale, void
from tests.support.requests import post, put
from tests.support.system import World, opened
from tests.support.tables import ledger

SPAN = ["--from", "2026-10-23", "--to", "2026-10-24"]


@contextmanager
def serving(world: World) -> Iterator[str]:
    """Have the system answer over HTTP; yield its address."""
    server, before = Server(0), world.turn
    world.turn = server.turns.taken
    try:
        with server.serving(world.stack):
            yield server.url
    finally:
        world.turn = before


RULE = {"currency": "GBP", "charges": [{"name": "commission", "percent": "20", "minimum": "5"}]}
BECAUSE = ("--reason", "new contract", "--by", "ann")


@pytest.fixture
def rate_card(tmp_path: Path) -> str:
    """A file with a rate card of 20 percent, and a minimum of 5."""
    file = tmp_path / "card.json"
    file.write_text(json.dumps({"valid_from": "2026-10-01T00:00:00Z", "rules": [RULE]}))
    return str(file)


def run(url: str, rate_card: str, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any]]:
    """Run the command; return its exit code and what it printed."""
    code = main(["rerate", "--rate-card", rate_card, *SPAN, "--url", url, "--json", *more])
    printed: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, printed


def test_what_a_dry_run_shows_is_posted_once_and_counted_and_sealed(
    rate_card: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rerate, "_PAGE", "5")
    monkeypatch.setattr(sender, "batches", partial(batches, most=4))
    with opened() as world:
        keep(world, 0, {"percent": "10"})
        post(world, [sale(f"s{number}", "100") for number in range(12)])
        post(world, [refund("r", "-50", of="s0"), sale("own", "100", commission_rate="0.1")])
        post(world, [{**sale("other", "10"), "subject": "7"}])
        world.pass_time(minutes=20)
        with serving(world) as url:
            code, shown = run(url, rate_card, capsys, "--dry-run")
            assert (code, shown["verdicts"], len(ledger(world))) == (0, {}, 15)
            assert shown["accounts"] == {
                "42#GBP": {
                    "events": 12,
                    "changed": 12,
                    "commission": "115.00",
                    "would_be": "230.00000000",
                    "difference": "115.00000000",
                },
                "7#GBP": {
                    "events": 1,
                    "changed": 1,
                    "commission": "1.00",
                    "would_be": "5",
                    "difference": "4.00",
                },
            }
            keep(world, 1, RULE)
            keep(world, 0, RULE, agency="default")
            code, one = run(url, "rate-card:default", capsys, "--agency", "7", *BECAUSE)
            assert (code, one["verdicts"]) == (0, {"recorded": 1})
            code, shown = run(url, "rate-card:42", capsys, "--dry-run", *BECAUSE)
            code, posted = run(url, "rate-card:42", capsys, *BECAUSE)
            assert (code, posted["verdicts"]) == (0, {"recorded": 12})
            assert posted["adjustments"] == shown["adjustments"]
            by = {"rate_card": "rate-card:42", "version": 2, "by": "ann"}
            assert posted["adjustments"][0]["event"]["data"]["rerating"] == by
            code, again = run(url, "rate-card:42", capsys, *BECAUSE)
            assert (code, again["verdicts"], again["adjustments"]) == (0, {}, [])
            post(world, [void(of="s0"), refund("r1", "-100", of="s1")])
            assert run(url, "rate-card:42", capsys, *BECAUSE) == (0, {**again, "accounts": ANY}), "no second run"
            assert main(["rerate", "--rate-card", "rate-card:42", *SPAN, "--url", url, "--dry-run"]) == 0
            assert "0 adjustments would be posted" in capsys.readouterr().out
        world.drain()
        assert Decimal(world.read("/accounts/42/GBP")["commission"]) == 210
        world.clock.advance(timedelta(minutes=20))
        world.report()
        world.stack.bucket.copy_to(tmp_path / "sealed")
    folder = Folder(tmp_path / "sealed")
    proof = verify(folder.open, folder.keys())
    assert (proof.proven, proof.lines) == (True, 30)


def test_a_line_before_the_span_keeps_the_fee_of_its_order_and_an_event_counts_in_the_group_of_its_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    fee = {"name": "payment fee", "percent": "1", "fixed": "1", "fixed_per": "order"}
    tiers = {"per": "month", "of": "group", "mode": "volume", "steps": [{"from": "0", "percent": "10"}]}
    with opened() as world:
        agency = {**tax(), "legal_name": "An agency", "valid_from": "2026-01-01T00:00:00Z"}
        moved = {**agency, "group": "North", "valid_from": "2026-10-23T02:30:00Z"}
        for seen, content in enumerate(({**agency, "group": "South"}, moved)):
            put(world, "/agencies/42", {"seen": seen, "content": content})
        keep(world, 0, {"currency": "GBP", "charges": [fee]}, agency="default")
        post(world, sale("a", "100", order_id="A"))
        world.pass_time(minutes=60)
        later = (sale(id_, "100", order_id="A") for id_ in ("b2", "b3"))
        post(world, [{**one, "time": f"2026-10-23T0{one['id'][1]}:00:00Z"} for one in later])
        keep(world, 1, {"currency": "GBP", "charges": [fee, {"name": "commission", "tiers": tiers}]}, agency="default")
        start = world.read("/events/shop/b2")["recorded_at"]
        arguments = ["--agency", "42", "--from", start, *BECAUSE]
        with serving(world) as url:
            code, posted = run(url, "rate-card:default", capsys, *arguments)
            assert (code, posted["verdicts"]) == (0, {"recorded": 2})
            assert run(url, "rate-card:default", capsys, *arguments)[1]["adjustments"] == []
        turnover = {one["refers_to"]: one["charges"] for one in ledger(world) if "rerating" in one}
        assert "group=South" in turnover["b2"]
        assert "group=North" in turnover["b3"]
        assert {Decimal(one["commission"]) for one in ledger(world) if "rerating" in one} == {Decimal(0)}


def test_adjustments_that_another_run_has_posted_with_another_reason_are_reported(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with opened() as world:
        keep(world, 0, {"percent": "10"})
        post(world, sale("s", "100"))
        keep(world, 1, {"percent": "20"})
        with serving(world) as url:
            _, shown = run(url, "rate-card:42", capsys, "--dry-run", *BECAUSE)
            (theirs,) = (one["event"] for one in shown["adjustments"])
            theirs["data"]["refers_to"] = "another"
            post(world, theirs)
            arguments = ["rerate", "--rate-card", "rate-card:42", "--version", "2", *SPAN, "--url", url, *BECAUSE]
            assert main(arguments) == 1
            printed = capsys.readouterr()
            assert "Not all of them are posted: run it again, with the same reason." in printed.out
            assert f"shop {theirs['id']}: conflict: id was held before with other content" in printed.err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ('{"valid_from": "2026-10-01T00:00:00Z", "rules": [{"percent": "200"}]}', "content.rules[0].percent is '200'"),
    ],
)
def test_a_file_without_a_rate_card_is_an_error(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "card.json").write_text(content)
    arguments = [
        "rerate",
        "--rate-card",
        str(tmp_path / "card.json"),
        *SPAN,
        "--url",
        "http://127.0.0.1:1",
        "--dry-run",
    ]
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--rate-card", "new.json", *BECAUSE), "a file is for a --dry-run alone"),
        (("--rate-card", "missing.json", "--dry-run"), "cannot be read"),
        (("--rate-card", "rate-card:default", *BECAUSE), "name the agency whose events are rerated (--agency)"),
        (("--rate-card", "rate-card:default", "--agency", "42"), "say why the events are rerated (--reason)"),
        (("--rate-card", "rate-card:42", "--agency", "7", *BECAUSE), "is the rate card of the agency 42 alone"),
        (
            ("--rate-card", "rate-card:42", "--version", "9", *BECAUSE),
            "there is no version 9 of the rate card rate-card:42",
        ),
        (("--rate-card", "rate-card:43", "--dry-run"), "there is no rate card rate-card:43: write it first"),
    ],
)
def test_arguments_with_which_nothing_can_be_posted_are_refused(
    more: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with opened() as world:
        keep(world, 0, {"percent": "10"})
        keep(world, 0, {"percent": "10"}, agency="default")
        with serving(world) as url:
            assert main(["rerate", *more, *SPAN, "--url", url]) == 2
    assert message in capsys.readouterr().err
