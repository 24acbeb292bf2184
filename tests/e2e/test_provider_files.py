"""The file of a provider goes from download to figures with two commands, and a reconciliation explains each row."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.repository import ROOT

EXPORTS = ROOT / "tests" / "support" / "exports"
AGENCY, PERIOD = "42", "2026-10"
LATER = {
    "specversion": "1.0",
    "source": "till",
    "id": "later",
    "type": "sale.recorded",
    "subject": "other",
    "time": "2026-12-01T10:00:00Z",
    "data": {"amount": "1.00", "currency": "EUR"},
}
"""A sale of a later month, so that the ledger is sealed to the end of the period."""


def quarterhour(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "quarterhour"), *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own


@pytest.mark.slow
@pytest.mark.parametrize(
    ("map_name", "file", "unmatched"),
    [
        ("stripe", "stripe_balance.csv", 0),
        ("stripe_payments", "stripe_payments.csv", 0),
        ("paypal", "paypal_german.csv", 1),  # a withdrawal, for which the ledger has no payment
        ("mollie", "mollie.csv", 0),
        ("woocommerce_items", "woocommerce_items.csv", 0),
        ("shopify", "shopify.csv", 0),
    ],
)
def test_a_file_becomes_figures_and_is_explained(map_name: str, file: str, unmatched: int, tmp_path: Path) -> None:
    given = [
        f"--set={name}" for name in ([f"agency={AGENCY}", "zone=UTC"] if "items" in map_name else [f"agency={AGENCY}"])
    ]
    made = quarterhour("csv", str(EXPORTS / file), "--map", map_name, *given, folder=tmp_path)
    events = made.stdout + json.dumps(LATER) + "\n"
    (tmp_path / "events.ndjson").write_text(events, "utf-8")
    replayed = quarterhour("replay", "events.ndjson", "--rate", "rate(1 day)", "--out", "sealed", folder=tmp_path)
    assert replayed.returncode == 0, replayed.stderr
    sets = given[1:] if map_name != "stripe" else []
    options = ["--map", map_name, "--agency", AGENCY, "--period", PERIOD, *sets]
    found = quarterhour("reconcile", str(EXPORTS / file), "sealed", *options, folder=tmp_path)
    assert f" matched, {unmatched} not matched" in found.stdout, found.stdout + found.stderr
    assert "file: " in found.stdout, "what became of all rows adds up to the file"
