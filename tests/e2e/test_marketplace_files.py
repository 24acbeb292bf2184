"""From the downloads of marketplaces to figures with two commands, and a reconciliation that explains every row."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from quarterhour_tools.cli import main
from tests.support.repository import ROOT

pytestmark = pytest.mark.slow
EXPORTS: Final = ROOT / "tests" / "support" / "exports"
FILES: Final = {
    "adyen": "adyen.csv",
    "airbnb": "airbnb.csv",
    "amazon": "amazon.txt",
    "ebay": "ebay_german.csv",
    "etsy_statement": "etsy_statement.csv",
    "square": "square.csv",
}
SOURCES: Final = {"etsy_statement": "etsy"}
"""The source of a map's events, if it is not its name."""
PAYOUT: Final[dict[str, Any]] = {
    "specversion": "1.0",
    "source": "adyen",
    "id": "payout-4",
    "type": "payment.recorded",
    "subject": "HarbourEU",
    "time": "2026-10-10T03:00:00Z",
    "data": {"amount": "-36.30", "currency": "GBP", "extra": {"payout": "HarbourEU:4"}},
}
ACCOUNTS: Final = {  # gross sales, refunds with adjustments, of each file by hand
    "HarbourEU#GBP": ("58.00", "-20.50"),
    "HarbourEU#EUR": ("349.99", "-699.98"),
    "HarbourEU#USD": ("1200", "0"),
    "42#EUR": ("3145.00", "-218.54"),
    "42#GBP": ("3378.99", "-89.40"),
    "42#USD": ("2559.50", "-62.50"),
}
"""Adyen; eBay 1395.00 - 125.00 and Airbnb 1750.00 - 93.54; Amazon 2069.00 - 51.40 and Etsy 1309.99 - 38.00; eBay 60.00,
Square 1259.50 - 62.50 and Airbnb 1240.00."""


def settings(name: str) -> list[str]:
    needed = {"adyen": [], "square": ["agency=42", "currency=USD"]}.get(name, ["agency=42"])
    return [part for one in needed for part in ("--set", one)]


def test_downloads_become_figures_and_every_row_is_explained_on_both_sides(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = [PAYOUT]
    for name, file in FILES.items():
        assert main(["csv", str(EXPORTS / file), "--map", name, *settings(name)]) == 0
        events += map(json.loads, capsys.readouterr().out.splitlines())
    sent, out = tmp_path / "events.ndjson", tmp_path / "out"
    # A replay records each event at its time, so those of several files go in one order: none is late for its month.
    events.sort(key=lambda one: str(one["time"]))
    sent.write_text("".join(f"{json.dumps(one)}\n" for one in events), "utf-8")
    assert main(["replay", str(sent), "--out", str(out), "--rate", "rate(1 day)", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["verified"]
    assert {name: figures(one) for name, one in result["accounts"].items()} == {
        name: tuple(map(Decimal, one)) for name, one in ACCOUNTS.items()
    }
    for name, file in FILES.items():
        explained = 0
        # The lines of Amazon's map name no agency, so it asks for none.
        given = [] if name.startswith("amazon") else settings(name)
        for period in ("2026-10", "2026-11", "2026-12"):
            arguments = ["--map", name, *given, "--source", SOURCES.get(name, name), "--period", period]
            assert main(["reconcile", str(EXPORTS / file), str(out), *arguments, "--json"]) == 0, (name, period)
            document = json.loads(capsys.readouterr().out)
            explained += sum(one["findings"] for one in document["sums"] if one["label"] == "matched")
        assert explained, name


def figures(account: dict[str, Any]) -> tuple[Decimal, Decimal]:
    return Decimal(account["gross"]), Decimal(account["refunds"])
