"""Agencies and rate cards from files, and parameters: into a replay, and agencies into a system that is up."""

import json
from pathlib import Path

import pytest

from quarterhour_tools.cli import main
from tests.e2e.sales import event, lines
from tests.e2e.test_rerate import serving
from tests.support.statement_parties import OWNER, registered
from tests.support.system import opened

AGENCIES = '{"agency": "42", "group": "eu", "country": "DE", "tax": {"scheme": "exempt"}}\n{"agency": "7"}\n'


def test_a_replay_tries_rate_cards_and_agencies_on_recorded_events(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events, agencies, folder = tmp_path / "events.ndjson", tmp_path / "agencies.ndjson", tmp_path / "folder"
    sold = [event(1, 0, "100"), event(2, 1, "100", "7")]
    for one in sold:
        del one["data"]["commission_rate"]
    events.write_bytes(b"".join(lines(sold)))
    agencies.write_text(AGENCIES)
    (folder / "rate-card:group").mkdir(parents=True)
    (folder / "rate-card:group" / "eu.json").write_text('{"rules": [{"percent": 25}]}')
    (folder / "rate-card%3Adefault.json").write_text('{"rules": [{"percent": "5"}]}')
    code = main(["replay", str(events), "--rate-cards", str(folder), "--agencies", str(agencies), "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (code, result["verified"], result["recorded"]) == (0, True, 2)
    commissions = {account: totals["commission"] for account, totals in result["accounts"].items()}
    assert commissions == {"42#GBP": "25.00", "7#GBP": "5.00"}


def test_a_replay_refuses_an_invalid_agency_before_any_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events, agencies = tmp_path / "events.ndjson", tmp_path / "agencies.ndjson"
    events.write_bytes(b"".join(lines([event(1, 0, "100")])))
    agencies.write_text('{"agency": "42", "country": "UK"}\n')
    assert main(["replay", str(events), "--agencies", str(agencies)]) == 2
    assert "line 1: country is 'UK': expected an ISO 3166-1 code" in capsys.readouterr().err


def test_a_replay_writes_each_version_of_an_agency_at_its_instant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events, agencies, owner = (tmp_path / name for name in ("events.ndjson", "agencies.ndjson", "owner.json"))
    events.write_bytes(b"".join(lines([event(1, 0, "100"), event(2, 600, "100")])))
    written = {"Old Ltd": {}, "New Ltd": {"registered_at": "2026-10-23T12:00:00Z"}}
    written["Later Ltd"] = {"registered_at": "2036-10-23T02:00:00Z"}
    rows = (
        {"agency": "42", **registered(legal_name=name), "valid_from": "2020-01-01T00:00:00Z", **at}
        for name, at in written.items()
    )
    agencies.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    owner.write_text(json.dumps({**OWNER, "payment_days": 14}))
    out = tmp_path / "out"
    arguments = ["--agencies", str(agencies), "--owner", str(owner), "--statements", "--json", "--out", str(out)]
    assert main(["replay", str(events), *arguments]) == 0
    shown = json.loads((out / "statements/2026-10/42/GBP/statement.json").read_text())
    assert (shown["owner"]["legal_name"], shown["customer"]["legal_name"]) == ("Corner Market Ltd", "New Ltd")
    err = capsys.readouterr().err
    assert "/agencies/42: not written, as 2036-10-23T02:00:00Z is after the end" in err


def test_an_owner_is_registered_in_a_system_that_is_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "owner.json"
    path.write_text('{"legal_name": "Corner Market Ltd", "payment_days": 14}')
    with opened() as world, serving(world) as url:
        assert main(["owner", str(path), "--url", url]) == 0
        lacks = "A complete statement also needs: address, country, vat_id, iban"
        assert capsys.readouterr().out.splitlines() == ["owner: created", lacks]
        assert main(["owner", str(path), "--url", url]) == 0
        assert "owner: unchanged" in capsys.readouterr().out
        assert world.read("/documents/owner")["content"]["payment_days"] == 14
        path.write_text('{"legal_name": "Corner Market Ltd", "payment_days": 400}')
        assert main(["owner", str(path), "--url", url]) == 2


@pytest.mark.parametrize("command", ["replay", "up"])
def test_an_unknown_time_zone_ends_the_command_with_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    events = tmp_path / "events.ndjson"
    events.write_bytes(b"".join(lines([event(1), event(2)])))
    arguments = {"replay": [str(events)], "up": ["--port", "0"]}[command]
    settings = tmp_path / "settings.json"
    settings.write_text('{"time_zone": "Mars/Phobos"}')
    assert main([command, *arguments, "--settings", str(settings)]) == 2
    problem = (
        f"{settings}: content.time_zone is 'Mars/Phobos': expected a time zone of the tz database such as "
        "Europe/London, or UTC"
    )
    assert capsys.readouterr().err == f"quarterhour: {problem}\n"


def test_agencies_are_registered_in_a_system_that_is_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "agencies.ndjson"
    path.write_text(AGENCIES)
    with opened() as world, serving(world) as url:
        assert main(["agencies", str(path), "--url", url]) == 0
        assert "2 created, 0 changed, 0 unchanged, 0 refused" in capsys.readouterr().out
        path.write_text(AGENCIES.replace("eu", "uk"))
        assert main(["agencies", str(path), "--url", url]) == 0
        printed = capsys.readouterr().out
        assert "42: changed: group" in printed
        assert "0 created, 1 changed, 1 unchanged, 0 refused" in printed
        listed = world.read("/agencies")["items"]
        assert [(one["agency"], one["version"]) for one in listed] == [("42", 2), ("7", 1)]
        path.write_text(AGENCIES + '{"agency": "default"}\n')
        assert main(["agencies", str(path), "--url", url]) == 1
        assert "1 of 3 agencies are invalid; nothing was sent" in capsys.readouterr().out
