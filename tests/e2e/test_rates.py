"""Exchange rates from a file: into a replay, at their time, and into a system that is up."""

import csv
import json
import socket
from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.cli import main
from quarterhour_tools.target.remote import Remote
from tests.e2e.sales import event, lines
from tests.e2e.test_rerate import serving
from tests.support.system import opened

HEADER = "date,currency,units_per_eur\n"
HISTORY = "2026-10-01,GBP,0.5\n2026-10-23T08:20:00Z,GBP,0.8\n2026-10-24,GBP,0.4\n2026-10-25,GBP,0.1\n"


def sums(folder: Path) -> list[str]:
    """Return what was sold in each run, in the base currency."""
    found = []
    for summary in sorted(folder.glob("reports/**/summary.csv")):
        with summary.open(encoding="utf-8", newline="") as file:
            found += [row["net_in_base_rounded_half_even"] for row in csv.DictReader(file)]
    return found


def settings_file(folder: Path) -> Path:
    file = folder / "settings.json"
    file.write_text('{"base_currency": "EUR"}')
    return file


def test_a_replay_states_rates_when_its_clock_comes_to_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each quarter-hour is converted at the rate in force at its end; the first event's is entered before it comes."""
    events, rates = tmp_path / "events.ndjson", tmp_path / "rates.csv"
    events.write_bytes(b"".join(lines([event(1, 0, "1.00"), event(2, 16, "1.00"), event(3, 16 * 60 + 1, "1.00")])))
    rates.write_text(HEADER + HISTORY)
    base = ["--settings", str(settings_file(tmp_path))]
    code = main(["replay", str(events), "--rates", str(rates), *base, "--out", str(tmp_path / "sealed"), "--json"])
    result = json.loads(capsys.readouterr().out)
    assert (code, result["verified"], result["rates"]) == (0, True, {"entered": 3, "ahead of the end": 1})
    assert [one for one in sums(tmp_path / "sealed") if one] == ["3.25", "2.50"]
    assert main(["verify", str(tmp_path / "sealed")]) == 0


def test_a_rate_that_is_refused_ends_in_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    events, rates = tmp_path / "events.ndjson", tmp_path / "rates.csv"
    events.write_bytes(b"".join(lines([event(1)])))
    rates.write_text(HEADER + "2026-10-01,pounds,0.5\n2026-10-01,GBP,0.5\n2026-10-01,GBP,0.6\n")
    assert main(["replay", str(events), "--rates", str(rates), "--settings", str(settings_file(tmp_path))]) == 1
    captured = capsys.readouterr()
    assert "1 exchange rates entered, 2 exchange rates refused" in captured.out
    assert "line 2: currency is 'pounds'" in captured.err


def test_no_request_waits_for_the_receipt_of_its_own_headers() -> None:
    with opened() as world, serving(world) as url:
        remote = Remote(url)
        assert remote.put("/exchange-rates/GBP", {"units_per_base": "0.8", "source": "ECB"})[0] == 201
        pool: Any = remote._transport._transport._pool
        streams = [one._connection._network_stream for one in pool.connections]
        sockets = [one.get_extra_info("socket") for one in streams]
        assert [one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for one in sockets] == [1]


def test_the_file_of_the_ecb_is_entered_beside_the_rate_of_today(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = tmp_path / "eurofxref-hist.csv"
    rates.write_text("Date,USD,GBP,\n2026-10-22,1.10,0.87,\n2026-10-21,N/A,0.86,\n2026-10-20,1.08,0.85,\n")
    with opened({"base_currency": "EUR"}) as world, serving(world) as url:
        assert main(["rates", str(rates), "--url", url, "--from", "2026-10-22"]) == 0
        assert main(["rates", str(rates), "--url", url]) == 0
        assert capsys.readouterr().out == "2 entered, 0 refused\n5 entered, 0 refused\n"
        found = {
            (currency, one["as_of"][:10]): one["units_per_base"]
            for currency in ("GBP", "USD")
            for one in world.all(f"/exchange-rates/{currency}/history", last=9)
        }
        assert found == {
            ("GBP", "2026-10-20"): "0.85",
            ("GBP", "2026-10-21"): "0.86",
            ("GBP", "2026-10-22"): "0.87",
            ("USD", "2026-10-20"): "1.08",
            ("USD", "2026-10-22"): "1.10",
        }


def test_a_file_of_another_base_currency_states_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ecb, dollars, any_base = (tmp_path / name for name in ("ecb.csv", "usd.csv", "any.csv"))
    ecb.write_text("Date,USD,GBP,\n2026-10-22,1.10,0.87,\n")
    dollars.write_text("date,currency,units_per_usd\n2026-10-22,GBP,0.8\n")
    any_base.write_text("date,currency,units_per_base\n2026-10-22,CHF,0.8\n")
    with opened({"base_currency": "USD"}) as world, serving(world) as url:
        assert main(["rates", str(ecb), "--url", url]) == 1
        assert "line 2: GBP: base is EUR: expected USD, the base currency" in capsys.readouterr().out
        assert world.missing("/exchange-rates/GBP")
        for file in (dollars, any_base):
            assert main(["rates", str(file), "--url", url]) == 0
            assert capsys.readouterr().out == "1 entered, 0 refused\n"


def test_without_a_base_currency_a_file_that_names_one_states_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text(HEADER + HISTORY)
    with opened() as world, serving(world) as url:
        assert main(["rates", str(rates), "--url", url]) == 1
        expected = "line 2: GBP: base is EUR: expected none, as the settings have no base_currency"
        assert expected in capsys.readouterr().out
        assert world.missing("/exchange-rates/GBP")


def test_rates_are_entered_in_a_system_that_is_up_and_again_change_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text(HEADER + HISTORY.splitlines()[0] + "\n2026-10-22,USD,1.1\n")
    with opened({"base_currency": "EUR"}) as world, serving(world) as url:
        for _ in range(2):
            assert main(["rates", str(rates), "--url", url]) == 0
            assert capsys.readouterr().out == "2 entered, 0 refused\n"
        assert world.read("/exchange-rates/USD")["version"] == 1
        rates.write_text(HEADER + "2026-10-21,USD,1.2\n2026-10-22,USD,1.2\n")
        assert main(["rates", str(rates), "--url", url]) == 1
        assert "line 3: USD: as of 2026-10-22T00:00:00.000Z" in capsys.readouterr().out
        assert world.read("/exchange-rates/USD", at="2026-10-21T12:00:00Z")["units_per_base"] == "1.2"
