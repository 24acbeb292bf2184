"""The file of each provider goes from download to figures with two commands, and a reconciliation explains each row."""

import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from quarterhour.file_formats.csv.map import load_map, load_provider_map
from quarterhour_tools.cli import main
from quarterhour_tools.csv.maps import read_map
from quarterhour_tools.reconciliation.maps import map_text
from tests.support.repository import ROOT

pytestmark = pytest.mark.slow
EXPORTS: Final = ROOT / "tests" / "support" / "exports"
VALUES: Final = {"agency": "42", "currency": "USD", "zone": "UTC"}
LATER: Final[dict[str, Any]] = {
    "specversion": "1.0",
    "source": "till",
    "id": "later",
    "type": "sale.recorded",
    "subject": "other",
    "time": "2027-02-01T10:00:00Z",
    "data": {"amount": "1.00", "currency": "EUR"},
}
"""A sale of a later month, so that the ledger is sealed to the end of each period."""
PAYOUT: Final[dict[str, Any]] = {
    **LATER,
    "source": "adyen",
    "id": "payout-4",
    "type": "payment.recorded",
    "subject": "HarbourEU",
    "time": "2026-10-10T03:00:00Z",
    "data": {"amount": "-36.30", "currency": "GBP", "extra": {"payout": "HarbourEU:4"}},
}
"""What the ledger has of Adyen's payout: the file has events of sales alone, and the reconciliation both."""


class Expected(NamedTuple):
    """Gross sales and refunds of each account, by hand; the file's bad rows; lines of which the ledger has nothing."""

    accounts: dict[str, tuple[str, str]]
    bad: int = 0
    unmatched: int = 0
    more: tuple[dict[str, Any], ...] = ()


PAYPAL: Final = Expected({"42#EUR": ("1250.00", "-20.00"), "42#USD": ("110.00", "-55.00")}, unmatched=1)
"""Its withdrawal is no payment of the ledger."""
AMAZON: Final = Expected({"42#GBP": ("2069.00", "-51.40")})
EBAY: Final = Expected({"42#EUR": ("1395.00", "-125.00"), "42#USD": ("60.00", "0")})
VENDORS: Final = {
    "Oak Studio#USD": ("30.00", "-3.00"),
    "Elm Press#USD": ("49.99", "-23.00"),
    "Ash Works#USD": ("30.01", "-3.00"),
    "Oak Studio#JPY": ("500", "0"),
    "Elm Press#JPY": ("499", "0"),
}
OF_ADYEN: Final = {
    "HarbourEU#GBP": ("58.00", "-20.50"),
    "HarbourEU#EUR": ("349.99", "-699.98"),
    "HarbourEU#USD": ("1200", "0"),
}
FILES: Final = {
    "adyen.csv": ("adyen", Expected(OF_ADYEN, more=(PAYOUT,))),
    "airbnb.csv": ("airbnb", Expected({"42#EUR": ("1750.00", "-93.54"), "42#USD": ("1240.00", "0")})),
    "amazon.txt": ("amazon", AMAZON),
    "amazon_comma.txt": ("amazon_comma", AMAZON),
    "ebay.csv": ("ebay", EBAY),
    "ebay_german.csv": ("ebay", EBAY),
    "etsy_items.csv": ("etsy_items", Expected({"42#EUR": ("1125.00", "0"), "42#USD": ("13.00", "0")})),
    "etsy_payments.csv": (
        "etsy_payments",
        Expected({"42#EUR": ("1157.00", "-157.00"), "42#USD": ("17.50", "0")}),
    ),
    "etsy_statement.csv": ("etsy_statement", Expected({"42#GBP": ("1309.99", "-38.00")})),
    "mollie.csv": ("mollie", Expected({"42#EUR": ("150.00", "-20.00"), "42#USD": ("2100.00", "-1050.00")}, 1)),
    # Its lines are its events, of which a withdrawal is none.
    "paypal_day_first.csv": ("paypal_day_first", PAYPAL._replace(unmatched=0)),
    "paypal_english.csv": ("paypal", PAYPAL),
    "paypal_french.csv": ("paypal", PAYPAL),
    "paypal_german.csv": ("paypal", PAYPAL),
    "paypal_italian.csv": ("paypal", PAYPAL),
    "paypal_spanish.csv": ("paypal", PAYPAL),
    "shopify.csv": ("shopify", Expected({"42#USD": ("1290.79", "-6.29")})),
    "shopify_orders.csv": ("shopify_orders", Expected(VENDORS, 1)),
    "square.csv": ("square", Expected({"42#USD": ("1259.50", "-62.50")})),
    "stripe_balance.csv": (
        "stripe",
        Expected({"42#EUR": ("125.00", "-65.00"), "42#USD": ("160.00", "-80.00")}, 2),
    ),
    "stripe_payments.csv": (
        "stripe_payments",
        Expected({"42#EUR": ("219.00", "-85.00"), "42#USD": ("1070.00", "-70.00")}, 1),
    ),
    "woocommerce.csv": ("woocommerce", Expected({"42#USD": ("1251.5", "-16")}, 1)),
    "woocommerce_items.csv": ("woocommerce_items", Expected({"42#EUR": ("47.00", "-16.00")})),
}
EXPLAINED: Final = frozenset({"matched", "total"})


def test_each_shipped_map_has_a_file() -> None:
    folder = ROOT / "layers" / "quarterhour" / "quarterhour" / "file_formats" / "csv" / "maps"
    assert {name for name, _ in FILES.values()} == {one.stem for one in folder.glob("*.toml")}


def sets(names: Any) -> list[str]:
    return [part for name, value in VALUES.items() if name in names for part in ("--set", f"{name}={value}")]


@pytest.mark.parametrize("file", FILES)
def test_a_file_becomes_figures_and_every_row_is_explained_on_both_sides(
    file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, expected = FILES[file]
    given = sets(load_map(read_map(name)).settings)
    assert main(["csv", str(EXPORTS / file), "--map", name, *given, "--json"]) == bool(expected.bad)
    out, err = capsys.readouterr()
    summary = json.loads(err.splitlines()[-1])
    assert summary["bad"] == expected.bad
    assert_adds_up(summary["sums"])
    # A replay records each event at its time: in one order, none is late for its month.
    made = sorted((json.loads(line) for line in out.splitlines()), key=lambda one: str(one["time"]))
    events = sorted((*made, *expected.more), key=lambda one: str(one["time"]))
    sent = tmp_path / "events.ndjson"
    sent.write_text("".join(f"{json.dumps(one)}\n" for one in (*events, LATER)), "utf-8")

    assert main(["replay", str(sent), "--out", str(tmp_path / "out"), "--rate", "rate(1 day)", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["verified"]
    accounts = {account: one for account, one in result["accounts"].items() if account != "other#EUR"}
    assert {account: (Decimal(one["gross"]), Decimal(one["refunds"])) for account, one in accounts.items()} == {
        account: tuple(map(Decimal, one)) for account, one in expected.accounts.items()
    }

    lines = load_provider_map(map_text(name), name)
    options = [*sets(lines.settings), *(["--agency", "42"] if "42" in made[0]["subject"] else [])]
    found: Counter[str] = Counter()
    for period in sorted({one["time"][:7] for one in made}):
        arguments = ["--map", name, *options, "--source", made[0]["source"], "--period", period, "--json"]
        main(["reconcile", str(EXPORTS / file), str(tmp_path / "out"), *arguments])
        document = json.loads(capsys.readouterr().out)
        for one in document["sums"]:
            found[one["label"]] += one["findings"] or 0 if one["measure"] == "amount" else 0
    assert found["matched"], found
    assert sum(count for label, count in found.items() if label not in EXPLAINED) == expected.unmatched, found


def assert_adds_up(sums: dict[str, Any]) -> None:
    """Assert that events, exclusions and bad rows of a file add up to it, in rows and in each currency."""
    parts = [sums["events"], sums["bad"], *sums["excluded"]]
    assert sum(one["rows"] for one in parts) == sums["file"]["rows"]
    for currency, amount in sums["file"]["amounts"].items():
        assert sum(Decimal(one["amounts"].get(currency, 0)) for one in parts) == Decimal(amount)
