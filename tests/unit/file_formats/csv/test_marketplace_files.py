"""Files of marketplaces in their documented layouts: their events, what a rule leaves out with its sums, and their ids.

The expected values are computed by hand from the files in `tests/support/exports`, apart from the maps.
"""

import io
from functools import cache
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quarterhour.file_formats.csv.events import converted
from quarterhour.file_formats.csv.lines import numbered
from quarterhour.file_formats.csv.map import CsvMap, load_map
from quarterhour.file_formats.csv.recognised import recognised
from quarterhour.file_formats.csv.summary import ConvertedRow, FileSummary
from quarterhour.file_formats.csv.table import read_table
from quarterhour.model import money
from quarterhour_tools.csv.maps import read_map
from tests.support.cases import cases
from tests.support.repository import ROOT

EXPORTS: Final = ROOT / "tests" / "support" / "exports"
SALE, REFUND, ADJUSTMENT = "sale.recorded", "sale.refunded", "adjustment.recorded"
SETTINGS: Final = {"agency": "42", "currency": "USD"}
FILES: Final = {
    "adyen.csv": "adyen",
    "airbnb.csv": "airbnb",
    "amazon.txt": "amazon",
    "amazon_comma.txt": "amazon_comma",
    "ebay.csv": "ebay",
    "ebay_german.csv": "ebay",
    "etsy_items.csv": "etsy_items",
    "etsy_payments.csv": "etsy_payments",
    "etsy_statement.csv": "etsy_statement",
    "square.csv": "square",
}
"""The map of each file."""

Shown = tuple[str, str, str, str, str]


@cache
def map_of(name: str) -> CsvMap:
    return load_map(read_map(name))


def rows_of(name: str, text: str) -> list[ConvertedRow]:
    mapping = map_of(name)
    table = read_table(numbered(io.StringIO(text, newline="")), mapping.file, mapping.used_by)
    return list(converted(table, mapping, {one: SETTINGS[one] for one in mapping.settings}))


def export(file: str) -> str:
    return (EXPORTS / file).read_text("utf-8")


def of_body(body: dict[str, Any]) -> Shown:
    data = body["data"]
    return data["order_id"], body["type"], body["time"], data["amount"], data["currency"]


def found(file: str) -> tuple[list[Shown], dict[str, str], str]:
    """Return the events of a file, what each rule excludes, and the sums of the file."""
    rows, summary = rows_of(FILES[file], export(file)), FileSummary()
    for row in rows:
        assert not row.bad, row
        summary.add(row)
    excluded = {rule: f"{one.rows}: {sums(one.amounts)}" for rule, one in summary.excluded.items()}
    return [of_body(event.body) for row in rows for event in row.events], excluded, sums(summary.file.amounts)


def sums(amounts: dict[str, Any]) -> str:
    return ", ".join(f"{money.plain(amount)} {currency}" for currency, amount in sorted(amounts.items()))


NOON: Final = "T12:00:00Z"
AMAZON: Final = [
    ("206-1", SALE, "2026-10-02T14:23:00Z", "30.00", "GBP"),
    ("206-1", REFUND, "2026-10-02T14:23:00Z", "-3.00", "GBP"),
    ("206-2", SALE, "2026-10-02T14:23:00Z", "1012.00", "GBP"),
    ("206-2", SALE, "2026-10-02T14:23:00Z", "1012.00", "GBP"),
    ("206-0", REFUND, "2026-10-03T14:23:00Z", "-9.40", "GBP"),
    ("206-0", ADJUSTMENT, "2026-10-03T14:23:00Z", "1.00", "GBP"),
    ("206-3", REFUND, "2026-10-04T14:23:00Z", "-25.00", "GBP"),
    ("206-4", REFUND, "2026-10-05T14:23:00Z", "-14.00", "GBP"),
    ("206-4", ADJUSTMENT, "2026-10-09T14:23:00Z", "14.00", "GBP"),
]
AMAZON_EXCLUDED: Final = {
    "totals": "1: ",
    "shipping and gift wrap": "2: 0.00 GBP",
    "taxes": "8: 0.00 GBP",
    "fees": "9: -43.02 GBP",
    "goodwill, restocking and returns": "2: -0.50 GBP",
    "liquidations": "2: 4.50 GBP",
    "reimbursements": "1: 8.63 GBP",
    "reserves": "2: -5.00 GBP",
    "transfers and debts": "2: 0.00 GBP",
}
EBAY: Final = [
    ("11-00001-00001", SALE, f"2026-10-02{NOON}", "100.00", "EUR"),
    ("11-00001-00001", REFUND, f"2026-10-03{NOON}", "-30.00", "EUR"),
    ("11-00001-00001", REFUND, f"2026-10-03{NOON}", "-30.00", "EUR"),
    ("12-00002-00002", SALE, f"2026-10-06{NOON}", "1250.00", "EUR"),
    ("13-00003-00003", SALE, f"2026-10-07{NOON}", "60.00", "USD"),
    ("14-00004-00004", REFUND, f"2026-12-08{NOON}", "-20.00", "EUR"),
    ("15-00005-00005", REFUND, f"2026-12-09{NOON}", "-45.00", "EUR"),
    ("15-00005-00005", ADJUSTMENT, f"2026-12-15{NOON}", "45.00", "EUR"),
]
EBAY_EXCLUDED: Final = {
    "items of an order with several": "2: 0 EUR",
    "shipping labels": "1: -4.10 EUR",
    "other fees": "1: -1.20 EUR",
    "holds": "1: -100.00 EUR",
    "transfers and charges": "2: 2.00 EUR",
    "adjustments by eBay": "1: 2.00 EUR",
    "payouts": "1: -960.69 EUR",
}


@cases(
    ("file", "events", "excluded", "file_sums"),
    [
        (
            "adyen.csv",
            [
                ("order-1", SALE, "2026-10-01T09:26:49Z", "50.00", "GBP"),
                ("order-2", REFUND, "2026-11-01T10:26:49Z", "-12.50", "GBP"),
                ("order-3", REFUND, "2026-10-02T20:37:26Z", "-349.99", "EUR"),
                ("order-3", ADJUSTMENT, "2026-10-09T20:37:26Z", "349.99", "EUR"),
                ("order-3", REFUND, "2026-10-20T20:37:26Z", "-349.99", "EUR"),
                ("order-4", REFUND, "2026-10-12T07:00:00Z", "-8.00", "GBP"),
                ("order-4", ADJUSTMENT, "2026-10-15T07:00:00Z", "8.00", "GBP"),
                ("order-5", SALE, "2026-10-16T06:30:00Z", "1200", "USD"),
            ],
            {
                "fees": "3: -1.15 EUR",
                "reserves": "1: -20.00 EUR",
                "transfers": "1: 11.00 GBP",
                "corrections by Adyen": "1: 1.00 GBP",
                "payouts": "1: -36.30 GBP",
            },
            "-371.14 EUR, 13.20 GBP, 1200 USD",
        ),
        (
            "airbnb.csv",
            [
                ("HMAAA11111", SALE, f"2026-10-31{NOON}", "400.00", "EUR"),
                ("HMBBB22222", SALE, f"2026-10-31{NOON}", "1250.00", "EUR"),
                ("HMCCC33333", REFUND, f"2026-10-31{NOON}", "-53.54", "EUR"),
                ("HMDDD44444", ADJUSTMENT, f"2026-10-31{NOON}", "100.00", "EUR"),
                ("HMAAA11111", REFUND, f"2026-10-31{NOON}", "-40.00", "EUR"),
                ("HMBBB22222", SALE, f"2026-12-01{NOON}", "1240.00", "USD"),
            ],
            {
                "payouts": "2: -1612.50 EUR, -1200.00 USD",
                "resolutions paid to the host": "1: 25.00 EUR",
                "fees": "1: -50.00 EUR",
                "taxes": "2: 5.57 EUR",
                "shares of co-hosts": "1: -20.00 EUR",
            },
            "4.53 EUR, 40.00 USD",
        ),
        ("amazon.txt", AMAZON, AMAZON_EXCLUDED, "1982.21 GBP"),
        ("amazon_comma.txt", AMAZON, AMAZON_EXCLUDED, "1982.21 GBP"),
        ("ebay.csv", EBAY, EBAY_EXCLUDED, "208.01 EUR, 60.00 USD"),
        ("ebay_german.csv", EBAY, EBAY_EXCLUDED, "208.01 EUR, 60.00 USD"),
        (
            "etsy_items.csv",
            [
                ("3001", SALE, f"2026-10-14{NOON}", "10.00", "USD"),
                ("3001", SALE, f"2026-10-14{NOON}", "3.00", "USD"),
                ("3002", SALE, f"2026-10-31{NOON}", "1125.00", "EUR"),
            ],
            {},
            "1125.00 EUR, 13.00 USD",
        ),
        (
            "etsy_payments.csv",
            [
                ("3001", SALE, f"2026-10-14{NOON}", "17.50", "USD"),
                ("3002", SALE, f"2026-10-31{NOON}", "1125.00", "EUR"),
                ("3002", REFUND, f"2026-10-31{NOON}", "-125.00", "EUR"),
                ("3003", SALE, f"2026-10-30{NOON}", "32.00", "EUR"),
                ("3003", REFUND, f"2026-10-30{NOON}", "-32.00", "EUR"),
            ],
            {},
            "1000.00 EUR, 17.50 USD",
        ),
        (
            "etsy_statement.csv",
            [
                ("3400000003", SALE, f"2026-10-31{NOON}", "1250.00", "GBP"),
                ("3400000001", REFUND, f"2026-10-20{NOON}", "-4.00", "GBP"),
                ("3400000001", REFUND, f"2026-10-20{NOON}", "-4.00", "GBP"),
                ("3400000002", REFUND, f"2026-10-09{NOON}", "-30.00", "GBP"),
                ("3400000002", SALE, f"2026-10-02{NOON}", "30.00", "GBP"),
                ("3400000001", SALE, f"2026-10-01{NOON}", "29.99", "GBP"),
            ],
            {
                "fees": "4: -60.10 GBP",
                "advertising": "1: -5.00 GBP",
                "taxes": "2: -51.00 GBP",
                "deposits": "1: 0 GBP",
                "shipping labels": "1: -3.20 GBP",
                "payments to Etsy": "1: 12.00 GBP",
            },
            "1164.69 GBP",
        ),
        (
            "square.csv",
            [
                ("T0001", SALE, "2026-11-01T02:15:00Z", "1250.00", "USD"),  # October in New York
                ("T0002", REFUND, "2026-11-02T16:15:00Z", "-50.00", "USD"),  # the clocks went back on the 1st
                ("T0003", REFUND, "2026-11-03T14:00:00Z", "-12.50", "USD"),
                ("T0006", SALE, "2026-11-06T02:00:00Z", "9.50", "USD"),
            ],
            {
                "cancelled": "1: 20.00 USD",
                "without net sales": "1: 0.00 USD",
                "pending": "1: 7.00 USD",
            },
            "1224.00 USD",
        ),
    ],
)
def test_each_row_is_an_event_or_left_out_by_a_rule_and_the_sums_add_up(
    file: str, events: list[Shown], excluded: dict[str, str], file_sums: str
) -> None:
    assert found(file) == (events, excluded, file_sums)


@pytest.mark.parametrize("file", sorted(FILES))
def test_the_map_of_a_file_is_named_by_its_columns(file: str) -> None:
    [found] = recognised(list(numbered(io.StringIO(export(file), newline=""))))
    assert (found.name, found.bad) == (FILES[file].removesuffix("_comma"), [])


@cases(
    ("file", "old", "new", "lines"),
    [
        ("adyen.csv", "DepositCorrection", "Levitation", [13]),
        ("adyen.csv", "CEST,Settled", "CST,Settled", [2]),  # of several countries
        ("airbnb.csv", "Co-Host Payout", "Levitation", [11]),
        ("airbnb.csv", "10/31/2026,,Reservation", "31/10/2026,,Reservation", [3, 4]),
        ("amazon.txt", "\tServiceFee\t", "\tLevitation\t", [31]),
        (
            "amazon.txt",
            "Order\t206-1\t\t\tS1\tAmazon.co.uk\tItemPrice\tShippingTax",
            "Order\t\t\t\t\t\tItemPrice\tAir",
            [6],
        ),
        ("amazon.txt", "Previous Reserve Amount Balance", "Levitation", [36]),
        ("ebay.csv", '"Hold"', '"Levitation"', [21]),
        ("ebay_german.csv", '"2. Okt 2026"', '"2. Foo 2026"', [8]),
        (
            "etsy_payments.csv",
            "8001,ann1,Ann A,3001,17.50,0.95,16.55,17.50,0.95,16.55,17.50,0.95,16.55,USD,17.50,USD,1,0,No,SETTLED",
            "8001,ann1,Ann A,3001,17.50,0.95,16.55,17.50,0.95,16.55,17.50,0.95,16.55,USD,17.50,USD,1,0,No,LOST",
            [2],
        ),
        ("etsy_statement.csv", ",Subscription,", ",Levitation,", [14]),
        ("etsy_statement.csv", "Payment for Order #3400000002", "Payment", [15]),
        ("etsy_statement.csv", '"£1,250.00",--,', '"€1,250.00",--,', [2]),
        ("square.csv", ",Payment,Main St,,C1,,,,,D1", ",Levitation,Main St,,C1,,,,,D1", [2]),
        ("square.csv", ",,Cancelled,", ",,Lost,", [5]),
        ("square.csv", "22:15:00,Eastern Time (US & Canada)", "22:15:00,Moon", [2]),
    ],
)
def test_a_row_that_no_rule_takes_is_bad_with_its_line(file: str, old: str, new: str, lines: list[int]) -> None:
    text = export(file)
    assert old in text
    assert [row.line for row in rows_of(FILES[file], text.replace(old, new)) if row.bad and row.is_row] == lines


def events_by_id(file: str, rows: list[str]) -> dict[str, dict[str, Any]]:
    lines = export(file).splitlines()
    text = "\n".join([*lines[: len(lines) - len(data_rows(file))], *rows]) + "\n"
    made = [event.body for row in rows_of(FILES[file], text) for event in row.events]
    assert len({body["id"] for body in made}) == len(made)
    return {body["id"]: body for body in made}


def data_rows(file: str) -> list[str]:
    """Return the rows of a file below its header, and below the row of a settlement that names the currency."""
    above = {"ebay.csv": 8, "ebay_german.csv": 7, "amazon.txt": 2, "amazon_comma.txt": 2}.get(file, 1)
    return export(file).splitlines()[above:]


@pytest.mark.parametrize("file", sorted(FILES))
@settings(max_examples=10, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(data=st.data())
def test_a_corrected_file_adds_what_is_new_wherever_its_rows_stand(file: str, data: st.DataObject) -> None:
    rows = data_rows(file)
    whole = events_by_id(file, rows)
    shorter = data.draw(st.lists(st.sampled_from(range(len(rows))), unique=True))
    first = events_by_id(file, [rows[n] for n in shorter])
    assert {one: whole[one] for one in first} == first
    assert events_by_id(file, data.draw(st.permutations(rows))) == whole


def test_money_is_what_the_buyer_paid_whatever_the_provider_keeps() -> None:
    text = export("etsy_statement.csv").replace("£29.99,--,£29.99", "£29.99,-£2.17,£27.82")
    rows = rows_of("etsy_statement", text)
    [body] = [event.body for row in rows for event in row.events if event.body["data"]["amount"] == "29.99"]
    assert body["type"] == SALE
    assert not [row.bad for row in rows if row.bad]


def test_an_older_history_of_airbnb_has_other_names_and_no_gross_earnings() -> None:
    header = "Date,Type,Confirmation Code,Start Date,Nights,Guest,Listing,Details,Reference,Currency,Amount,Paid Out"
    rows = rows_of(
        "airbnb",
        f"{header},Host Fee,Cleaning Fee\n"
        "10/15/2026,Payout,,,,,,Transfer,,USD,,92,,\n"
        "10/15/2026,Reservation,CKQ94D,10/14/2026,1,Ann,Loft,,,USD,92,,3,0\n",
    )
    assert [(row.rule, [of_body(event.body) for event in row.events], row.bad) for row in rows] == [
        ("payouts", [], ""),
        ("", [("CKQ94D", SALE, f"2026-10-15{NOON}", "95", "USD")], ""),
    ]


def test_the_dollars_of_a_square_account_are_those_that_its_owner_names() -> None:
    mapping = map_of("square")
    for currency, bad in [("CAD", 0), ("USD", 0), ("EUR", 4)]:
        table = read_table(numbered(io.StringIO(export("square.csv"), newline="")), mapping.file, mapping.used_by)
        rows = list(converted(table, mapping, {"agency": "42", "currency": currency}))
        assert len([row for row in rows if row.bad]) == bad, currency
