"""Rows to events, and the command over files."""

import argparse
import gzip
import io
import json
import os
import subprocess
import sys
import unicodedata
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.events import MappedEvent, converted
from quarterhour.file_formats.csv.lines import BROKEN, numbered
from quarterhour.file_formats.csv.map import load_map
from quarterhour.file_formats.csv.summary import FileSummary, RowSums
from quarterhour.file_formats.csv.table import BadRow, read_table
from quarterhour_tools.csv import command as csv_command
from quarterhour_tools.loading import agencies, rate_cards
from tests.support.cases import cases
from tests.support.repository import ROOT

EXAMPLES = ROOT / "examples"
MAPS = sorted(one for one in EXAMPLES.glob("*.toml") if one.stem != "accounts")
"""The maps of CSV files; `accounts.toml` is that of a journal."""
TILL = """
[file]
never_changes = true

[numbers]
decimal = ","
thousands = "."

[[event]]
id = "{invoice}:{row}"
source = "till"
subject = "{shop}"
time = "{time}"
type = [{ amount = "< 0", is = "sale.refunded" }, { is = "sale.recorded" }]

[event.data]
amount = "{price}"
currency = "EUR"
customer = "{customer}"
location = [{ column = "shop", equals = "42", is = "ES#Madrid" }]
"""
HEADER = "invoice,shop,time,price,customer\n"


def outcomes(text: str, toml: str = TILL) -> list[MappedEvent | BadRow]:
    mapping = load_map(toml)
    table = read_table(numbered(io.StringIO(text, newline="")), mapping.file, mapping.used_by)
    found = list[MappedEvent | BadRow]()
    for row in converted(table, mapping):
        found += [BadRow(row.line, row.bad)] if row.bad else row.events
    return found


def good(text: str, toml: str = TILL) -> list[dict[str, Any]]:
    found = outcomes(text, toml)
    assert not [each for each in found if isinstance(each, BadRow)]
    return [each.body for each in found if isinstance(each, MappedEvent)]


def bad(text: str, toml: str = TILL) -> list[tuple[int, str]]:
    return [(each.line, each.reason) for each in outcomes(text, toml) if isinstance(each, BadRow)]


def test_a_row_becomes_a_cloud_event() -> None:
    (made,) = good(HEADER + 'A1,42,2026-10-23 01:30,"1.234,50",C7\n')
    assert made.pop("rowkey").endswith(":1"), "the id has the row's number, so it says which row it is"
    assert [made] == [
        {
            "specversion": "1.0",
            "id": "A1:1",
            "source": "till",
            "type": "sale.recorded",
            "subject": "42",
            "time": "2026-10-23T01:30:00Z",
            "data": {"amount": "1234.50", "currency": "EUR", "customer": "C7", "location": "ES#Madrid"},
        }
    ]


def test_an_empty_cell_and_a_list_without_fitting_case_leave_their_fields_out() -> None:
    [body] = good(HEADER + "A1,43,2026-10-23,5, \n")
    assert body["data"] == {"amount": "5", "currency": "EUR"}


def test_rows_are_counted_from_one_with_the_bad_ones_and_without_blank_lines() -> None:
    found = outcomes(HEADER + "A,42,2026-10-23,1,\n\nB,42\nC,42,2026-10-23,3,\n")
    assert [each.body["id"] for each in found if isinstance(each, MappedEvent)] == ["A:1", "C:3"]


def test_bad_rows_carry_the_physical_line_on_which_they_start() -> None:
    text = (
        HEADER
        + 'A,42,2026-10-23,1,"two\nlines\u200b"\nB,"4\n2",2026-10-23,1,\nC,42,never,1,\nD,42,2026-10-23,free,\nE,42\n'
    )
    assert [line for line, _ in bad(text)] == [2, 4, 6, 7, 8]


@cases(
    ("row", "reason"),
    [
        ("A,42,2026-10-23,1", "has 4 columns instead of 5"),
        ("A,42,2026-10-23,1,C,x", "has 6 columns instead of 5"),
        (",42,2026-10-23,1,", "event[1].id: invoice is empty"),
        ("A, ,2026-10-23,1,", "event[1].subject: shop is empty"),
        ("A,42,,1,", "event[1].time: time is empty"),
        ("A,42,2026-10-23,,", "event[1].data.amount: price is empty"),
        ("A,42,23.10.2026,1,", "event[1].time: '23.10.2026' is not a time of the form iso"),
        (
            "A,42,2026-10-23T24:00:00Z,1,",
            "event[1].time: '2026-10-23T24:00:00Z' has the hour 24: the end of a day is 00:00:00 of the next one",
        ),
        (
            "A,42,2026-10-23 24:00,1,",
            (
                "event[1].time: '2026-10-23 24:00' has the hour 24 or the second 60: the end of a day is 00:00 of the "
                "next one, and a leap second needs its offset from UTC"
            ),
        ),
        (
            "A,42,2026-10-23,1.5,",
            (
                "event[1].data.amount: price is '1.5', not a number of the form 1.234,56; "
                'to read it, set in [numbers]: decimal = "."'
            ),
        ),
        ('A,42,2026-10-23,1,"x"y', "is not CSV: ',' expected after '\"'"),
        ('A,42,2026-10-23,1,"x', "is not CSV: unexpected end of data"),
        (
            f"A,42,2026-10-23,1,{BROKEN}",
            "holds bytes that are not of the file's encoding: correct them, or set encoding in [file]",
        ),
        ("A,42,2026-10-23,1,\0", "holds NUL bytes"),
    ],
)
def test_a_bad_row_says_what_is_wrong(row: str, reason: str) -> None:
    assert bad(HEADER + row) == [(2, reason)]


@pytest.mark.parametrize(
    ("row", "field"),
    [("A#1,42,2026-10-23,1,", "id"), ("A,4#2,2026-10-23,1,", "subject"), ("A,42,2026-10-23,1,\x07", "data.customer")],
)
def test_what_the_ledger_would_reject_is_a_bad_row(row: str, field: str) -> None:
    [(line, reason)] = bad(HEADER + row)
    assert line == 2
    assert reason.startswith(f"{field} is ")


def test_a_sale_of_the_source_of_billed_orders_is_a_bad_row() -> None:
    [(_, reason)] = bad(HEADER + "A1,42,2026-10-23,1,C7\n", TILL.replace('"till"', '"orders"'))
    assert reason.startswith("source is 'orders'")


def test_rows_after_one_that_is_not_csv_are_read() -> None:
    found = outcomes(HEADER + 'A,42,2026-10-23,1,"x"y\nB,42,2026-10-23,1,\n')
    assert [type(each) for each in found] == [BadRow, MappedEvent]


def test_quotes_commas_and_line_ends_stay_in_their_cell() -> None:
    [body] = good(HEADER + 'A,42,2026-10-23,1,"said ""yes, sir"""\n')
    assert body["data"] == {"amount": "1", "currency": "EUR", "customer": 'said "yes, sir"', "location": "ES#Madrid"}


def test_a_file_without_quotes_and_header_can_be_read() -> None:
    form = '[file]\ndelimiter = "\\t"\nquote = ""\ncolumns = ["invoice", "shop", "time", "price", "customer"]\n'
    toml = TILL.replace("[file]\n", form)
    [body] = good('A\t42\t2026-10-23\t1\t17" tube\n', toml)
    assert body["data"] == {"amount": "1", "currency": "EUR", "customer": '17" tube', "location": "ES#Madrid"}


@pytest.mark.parametrize("header", ["", "invoice,shop,time,cost,customer\n", "invoice,shop,shop,time,price,customer\n"])
def test_a_file_without_the_columns_in_use_stops_it_all(header: str) -> None:
    with pytest.raises(MapError):
        outcomes(header)


def test_a_row_may_give_two_events_or_none_but_never_one_of_two() -> None:
    refund = (
        TILL.partition("[[event]]")[2]
        .replace("{invoice}:{row}", "{invoice}:{row}:refund")
        .replace('"{price}"', '"-{price}"')
    )
    refund = refund.replace("{time}", "{customer}") + 'refers_to = "{invoice}:{row}"\n'
    toml = TILL + '[[event]]\nwhen = { column = "customer", prefix = "2" }' + refund
    text = HEADER + "A,42,2026-10-23,7,2026-10-24\nB,42,2026-10-23,7,\nC,42,2026-10-23,7,2026-13-13\n"
    found = outcomes(text, toml)
    assert [(each.body["id"], each.body["data"]["amount"]) for each in found if isinstance(each, MappedEvent)] == [
        ("A:1", "7"),
        ("A:1:refund", "-7"),
        ("B:2", "7"),
    ]
    assert [each.line for each in found if isinstance(each, BadRow)] == [4]


@given(st.lists(st.integers(-(10**9), 10**9)))
def test_every_row_of_the_file_is_in_the_sum(cents: list[int]) -> None:
    rows = "".join(f'A,42,2026-10-23,"{cent // 100},{cent % 100:02d}",\n' for cent in map(abs, cents))
    amounts = [
        event.body["data"]["amount"].replace(".", "")
        for event in outcomes(HEADER + rows)
        if isinstance(event, MappedEvent)
    ]
    assert [int(amount) for amount in amounts] == [abs(cent) for cent in cents]


@pytest.mark.parametrize("example", MAPS, ids=lambda path: path.stem)
def test_every_example_is_a_good_map(example: Path) -> None:
    assert load_map(example.read_text("utf-8")).events


def test_the_retail_example_tells_sales_refunds_and_adjustments_apart() -> None:
    toml = (EXAMPLES / "online_retail.toml").read_text("utf-8")
    header = "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country\n"
    rows = [
        ("536365", "6", "2.55"),
        ("C536379", "-1", "27.50"),
        ("A563186", "1", "-11062.06"),
        ("A563185", "1", "11062.06"),
    ]
    rows += [("536414", "-56", "0.0"), ("540001", "-2", "1.5"), ("C540002", "1", "1.5")]
    text = header + "".join(
        f"{no},84,X,{count},2011-06-30 20:08:00,{price},17850.0,EIRE\n" for no, count, price in rows
    )
    assert [(body["type"], body["data"]["amount"]) for body in good(text, toml)] == [
        ("sale.recorded", "15.30"),
        ("sale.refunded", "-27.50"),
        ("adjustment.recorded", "-11062.06"),
        ("adjustment.recorded", "11062.06"),
        ("sale.recorded", "0.0"),
        ("sale.refunded", "-3.0"),
        ("adjustment.recorded", "1.5"),
    ]


def test_the_example_of_a_web_log_makes_views_without_money() -> None:
    text = "line,ts_utc,host,method,url,status,bytes\n1,2026-10-23 01:30:00,192.0.2.1,GET,/a,200,6\n"
    (view,) = good(text, (EXAMPLES / "web_views.toml").read_text("utf-8"))
    assert (view["type"], view["subject"], view["data"]) == ("view.recorded", "/a", {"customer": "192.0.2.1"})


def test_the_hotel_example_voids_cancelled_bookings_and_has_a_rate_card_for_each_group(tmp_path: Path) -> None:
    columns = "hotel,is_canceled,lead_time,arrival_date_year,arrival_date_month,arrival_date_day_of_month"
    columns += ",stays_in_weekend_nights,stays_in_week_nights,reserved_room_type,market_segment,meal,agent,adr"
    text = f"{columns},reservation_status,reservation_status_date\n" + "".join(
        f"City,{flag},10,2015,July,5,1,2,A,{segment},BB,{agent},75.50,{status},2015-07-01\n"
        for flag, agent, segment, status in (
            (0, "NULL", "Direct", "Check-Out"),
            (1, "9", "Online TA", "Canceled"),
            (0, "9", "Groups", "Check-Out"),
            (0, "9", "Online TA", "Check-Out"),
            (1, "1", "Groups", "No-Show"),
        )
    )
    found = good(text, (EXAMPLES / "hotel_bookings.toml").read_text("utf-8"))
    assert [one["data"]["amount"] for one in found if one["type"] == "sale.recorded"] == ["226.50"] * 5
    voids = [
        (one["subject"], one["data"]["refers_to"], one["data"]["reason"]) for one in found if "void" in one["type"]
    ]
    assert voids == [("9", "City:2", "Canceled"), ("1", "City:5", "No-Show")]
    script = [sys.executable, str(EXAMPLES / "hotel_agencies.py")]
    made = subprocess.run(script, input=text.encode(), capture_output=True, check=True)  # noqa: S603 - our own script
    (tmp_path / "agencies").write_bytes(made.stdout)
    registered = agencies.read_versions(str(tmp_path / "agencies"))
    groups = {row.agency: row.content["group"] for row in registered}
    assert groups == {"9": "online", "1": "offline", "direct": "own"}
    documents = {one.document for one in rate_cards.read(EXAMPLES / "hotel_rate_cards")}
    assert documents == {"rate-card:direct", "rate-card:group/online", "rate-card:group/offline"}


def command(tmp_path: Path, content: bytes, *options: str, toml: str = TILL, name: str = "sales.csv") -> int:
    (tmp_path / "map.toml").write_text(toml, "utf-8")
    (tmp_path / name).write_bytes(content)
    parser = argparse.ArgumentParser()
    csv_command.configure(parser)
    return csv_command.run(parser.parse_args([str(tmp_path / name), "--map", str(tmp_path / "map.toml"), *options]))


ROWS = (HEADER + "A,42,2026-10-23 01:00,1,\nB,42,2026-10-23 02:00,2,Zoë\n").encode()


def test_events_go_to_standard_output_and_the_counts_to_standard_error(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert command(tmp_path, ROWS) == 0
    out, err = capfdbinary.readouterr()
    assert [json.loads(line)["id"] for line in out.splitlines()] == ["A:1", "B:2"]
    assert "Zoë".encode() in out
    assert err == b"file: 2 rows, 3 EUR\n2 rows, 2 events, 0 bad rows\n"


def test_bad_rows_are_printed_and_counted_with_exit_code_1(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert command(tmp_path, ROWS + b"C,42\n") == 1
    assert capfd.readouterr().err.splitlines() == [
        "line 4: has 2 columns instead of 5",
        "events: 2 rows, 3 EUR",
        "bad: 1 row, 1 without an amount that can be read",
        "file: 3 rows, 3 EUR, 1 without an amount that can be read",
        "3 rows, 2 events, 1 bad row",
    ]


def test_a_byte_that_is_no_utf_8_spoils_its_row_alone(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert command(tmp_path, ROWS + b"C,42,2026-10-23,1,Zo\xeb\nD,42,2026-10-23,1,\n") == 1
    out, err = capfd.readouterr()
    assert len(out.splitlines()) == 3
    assert err.startswith("line 4: holds bytes that are not of the file's encoding")


def test_a_compressed_file_and_standard_input_are_read(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command(tmp_path, gzip.compress(ROWS), name="sales.csv.gz") == 0
    compressed = capfd.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(ROWS)))
    parser = argparse.ArgumentParser()
    csv_command.configure(parser)
    assert csv_command.run(parser.parse_args(["-", "--map", str(tmp_path / "map.toml")])) == 0
    assert capfd.readouterr().out == compressed


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        (["--from", "2026-10-23T02:00"], ["B:2"]),
        (["--to", "2026-10-23T02:00Z"], ["A:1"]),
        (["--from", "2026-10-23", "--to", "2026-10-24"], ["A:1", "B:2"]),
        (["--from", "2026-10-23T03:00+02:00", "--to", "2026-10-23T01:00:01Z"], ["A:1"]),
        (["--limit", "1"], ["A:1"]),
        (["--limit", "0"], []),
    ],
)
def test_a_span_of_time_or_a_number_of_rows_can_be_chosen(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], options: list[str], ids: list[str]
) -> None:
    assert command(tmp_path, ROWS, *options) == 0
    assert [json.loads(line)["id"] for line in capfd.readouterr().out.splitlines()] == ids


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (["--from", "2026-13"], "expected an ISO 8601 date or time"),
        (["--to", "tomorrow"], "expected an ISO 8601 date or time"),
        (["--limit", "-1"], "expected a whole number"),
        (["--limit", "9" * 20], "expected a whole number"),
        (["--limit", "9" * 5000], "expected a whole number"),
    ],
)
def test_an_option_that_cannot_be_read_is_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], option: list[str], expected: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        command(tmp_path, ROWS, *option)
    assert ended.value.code == 2
    assert expected in capfd.readouterr().err


@pytest.mark.parametrize(
    ("content", "toml", "name", "message"),
    [
        (ROWS, "[[event]]", "sales.csv", "map.toml: event[1]."),
        (
            ROWS,
            TILL.replace("{price}", "{cost}"),
            "sales.csv",
            "event[1].data.amount: the file has no column 'cost'; it has invoice,",
        ),
        (b"", TILL, "sales.csv", "no header line"),
        (ROWS, TILL, "sales.csv.gz", "cannot be read"),
        (gzip.compress(ROWS)[:-9], TILL, "sales.csv.gz", "cannot be read"),
    ],
)
def test_an_error_is_printed_with_exit_code_2(  # noqa: PLR0913, PLR0917 - a table and its fixtures
    content: bytes, toml: str, name: str, message: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path, content, toml=toml, name=name) == 2
    assert message in capfd.readouterr().err


def test_control_characters_of_the_file_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = "\x1b[2J" + "x" * 100_000 + "\n"
    assert command(tmp_path, header.encode()) == 2
    message = capsys.readouterr().err
    assert r"the file has no column" in message
    assert r"\x1b[2J" in message
    assert message.rstrip("\n").isprintable()
    assert len(message) < 1000


def test_a_cancelled_row_is_a_sale_and_its_void() -> None:
    void = """
[[event]]
when = { column = "customer", equals = "cancelled" }
id = "{invoice}:void"
source = "till"
subject = "{shop}"
type = "sale.voided"

[event.data]
currency = "EUR"
refers_to = "{invoice}:{row}"
refers_to_source = "till"
reason = "cancelled"
"""
    sold, voided = good(HEADER + "1,42,2026-10-23T01:30:00Z,5,cancelled\n", TILL + void)
    assert (sold["type"], voided["type"]) == ("sale.recorded", "sale.voided")
    assert voided["data"] == {
        "currency": "EUR",
        "refers_to": sold["id"],
        "refers_to_source": "till",
        "reason": "cancelled",
    }


def test_a_column_decides_which_rows_are_payments() -> None:
    table = """
[[event]]
id = "{no}"
source = "bank"
subject = "{agency}"
time = "{day}"
type = [{ column = "kind", equals = "payment", is = "payment.recorded" }, { is = "adjustment.recorded" }]

[event.data]
amount = "{amount}"
currency = "EUR"
reason = "{text}"
statement = "{pays}"
"""
    header = "no,agency,day,kind,amount,text,pays\n"
    rows = "1,42,2026-10-23,payment,-5,transfer 8,S-000001\n2,42,2026-10-23,fee,3,,\n"
    paid, adjusted = good(header + rows, table)
    assert (paid["type"], paid["data"]) == (
        "payment.recorded",
        {"amount": "-5", "currency": "EUR", "reason": "transfer 8", "statement": "S-000001"},
    )
    assert adjusted["type"] == "adjustment.recorded"


def test_a_row_that_pays_with_facts_of_a_sale_is_bad() -> None:
    rated = TILL.replace('[{ amount = "< 0", is = "sale.refunded" }, { is = "sale.recorded" }]', '"payment.recorded"')
    ((_, reason),) = bad(HEADER + "1,42,2026-10-23T01:30:00Z,5,ann\n", rated)
    assert "data.customer is given, though a payment is no sale" in reason


def test_only_a_void_has_no_amount() -> None:
    with pytest.raises(MapError, match="amount"):
        load_map(TILL.replace('amount = "{price}"\n', ""))


def test_a_settlement_as_banks_export_it_is_read_whole() -> None:
    toml = """
[file]
delimiter = ";"

[numbers]
decimal = ","
thousands = "."
negative = ["brackets", "trailing minus"]
currencies = { "€" = "EUR", "EUR" = "EUR" }

[time]
formats = ["%d.%m.%Y"]

[[event]]
id = "{Beleg}"
source = "bank"
subject = "{Haendler}"
time = "{Datum}"
type = [{ amount = "< 0", is = "sale.refunded" }, { is = "sale.recorded" }]
data = { amount = "{Betrag}", currency = "{Waehrung}" }
"""
    text = """Kontoauszug;;;;
"Stand: 23.10.2026";;;;

Beleg;Datum;Haendler;Betrag;Waehrung
1;01.10.2026;42;1.259,80 €;EUR
2;01.10.2026;42;EUR 12,00;eur
3;01.10.2026;42;(5,00 €); eur
4;01.10.2026;42;7,50-;EUR
5;01.10.2026;42;\N{MINUS SIGN}2,25;EUR
"""
    amounts = [(one["data"]["amount"], one["data"]["currency"]) for one in good(text, toml)]
    assert amounts == [("1259.80", "EUR"), ("12.00", "EUR"), ("-5.00", "EUR"), ("-7.50", "EUR"), ("-2.25", "EUR")]


def test_a_sign_that_contradicts_the_currency_is_a_bad_row() -> None:
    toml = TILL.replace("[numbers]", '[numbers]\ncurrencies = { "£" = "GBP", "€" = "EUR" }').replace('"."', '" "')
    assert good(HEADER + 'A,42,2026-10-23,"€1",\n', toml)
    assert bad(HEADER + 'A,42,2026-10-23,"£1",\n', toml) == [
        (2, "price is '£1', in GBP, but the currency of the event is EUR")
    ]


def test_a_commission_of_its_own_is_read() -> None:
    toml = TILL.replace('[{ amount = "< 0", is = "sale.refunded" }, { is = "sale.recorded" }]', '"adjustment.recorded"')
    [body] = good(HEADER + 'A,42,2026-10-23,"5","0,75"\n', toml.replace('customer = "{cu', 'commission = "{cu'))
    assert (body["data"]["amount"], body["data"]["commission"]) == ("5", "0.75")


def test_a_row_with_a_fee_is_a_sale_and_a_payment() -> None:
    toml = TILL.replace('currency = "EUR"\ncustomer = "{customer}"', 'currency = "EUR"').replace(
        '[{ amount = "< 0", is = "sale.refunded" }, { is = "sale.recorded" }]', '"sale.recorded"'
    )
    fee = toml.partition("[[event]]")[2].partition("location")[0].replace("{row}", "{row}:fee")
    fee = fee.replace("sale.recorded", "payment.recorded").replace("{price}", "-{customer}") + 'reason = "fee"\n'
    sold, paid = good(HEADER + 'A,42,2026-10-23,5,"0,25"\n', f"{toml}\n[[event]]{fee}")
    assert (sold["id"], sold["data"]["amount"]) == ("A:1", "5")
    assert (paid["id"], paid["data"]["amount"], paid["data"]["reason"]) == ("A:1:fee", "-0.25", "fee")


TOTAL = (
    TILL
    + """
[total]
when = { column = "invoice", equals = "Total" }
sums = { price = "{price}" }
"""
)


@pytest.mark.parametrize(
    ("rows", "problems"),
    [
        ("A,42,2026-10-23,1,\nB,42,2026-10-23,2,\nTotal,,,3,\n", []),
        ("Total,,,3,\nA,42,2026-10-23,1,\nB,42,2026-10-23,2,\n", []),
        ("A,42,2026-10-23,1,\nB,42,2026-10-23,2,\nTotal,,,3\n", []),
        (
            "A,42,2026-10-23,1,\nB,42,2026-10-23,2,\nTotal,,,4,\n",
            [(4, "total.sums.price: is 4, but the rows add up to 3")],
        ),
        ("A,42,2026-10-23,1,\n", [(2, "total: the file ends without its line of totals")]),
        (
            "A,42,2026-10-23,1,\nB,42,never,2,\nTotal,,,3,\n",
            [(3, "event[1].time: 'never' is not a time of the form iso")],
        ),
    ],
)
def test_the_rows_must_add_up_to_the_total_which_is_no_event(rows: str, problems: list[tuple[int, str]]) -> None:
    assert bad(HEADER + rows, TOTAL) == problems
    assert "Total:3" not in [one.body["id"] for one in outcomes(HEADER + rows, TOTAL) if isinstance(one, MappedEvent)]


def test_an_empty_cell_takes_the_value_above_but_never_across_a_bad_row() -> None:
    toml = "[columns.shop]\nfill_down = true\n" + TILL
    text = HEADER + "A,42,2026-10-23,1,\nB,,2026-10-23,1,\nC,43\nD,,2026-10-23,1,\nE,44,2026-10-23,1,\n"
    found = outcomes(text, toml)
    assert [one.body["subject"] for one in found if isinstance(one, MappedEvent)] == ["42", "42", "44"]
    assert [one.line for one in found if isinstance(one, BadRow)] == [4, 5]


def test_a_time_may_depend_on_a_column() -> None:
    cases = """[
  { column = "customer", equals = "CEST", is = "{time}+02:00" },
  { column = "customer", equals = "CET", is = "{time}+01:00" },
]"""
    toml = TILL.replace('time = "{time}"', f"time = {cases}")
    summer, winter = good(HEADER + "A,42,2026-10-23T01:00,1,CEST\nB,42,2026-11-23T01:00,1,CET\n", toml)
    assert (summer["time"], winter["time"]) == ("2026-10-22T23:00:00Z", "2026-11-23T00:00:00Z")
    assert bad(HEADER + "A,42,2026-10-23T01:00,1,PST\n", toml) == [(2, "event[1].time: no case matches")]


def test_a_value_of_the_command_line_is_used_like_a_column(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    toml = '[settings]\nagency = "the agency of the account"\n' + TILL.replace("{shop}", "{agency}")
    assert command(tmp_path, ROWS, "--set", "agency=7", toml=toml) == 0
    assert {json.loads(line)["subject"] for line in capfd.readouterr().out.splitlines()} == {"7"}
    assert command(tmp_path, ROWS, toml=toml) == 2
    assert "give --set agency=...: the agency of the account" in capfd.readouterr().err
    assert command(tmp_path, ROWS, "--set", "agency=7", "--set", "shop=8", toml=toml) == 2
    assert "settings.shop: the map asks for no such value" in capfd.readouterr().err


def test_the_last_line_can_be_json(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert command(tmp_path, ROWS + b"C,42\n", "--json") == 1
    shown = json.loads(capfd.readouterr().err.splitlines()[-1])
    sums = shown.pop("sums")
    assert shown == {"rows": 3, "events": 2, "excluded": 0, "bad": 1, "problems": 0}
    assert sums == {
        "events": {"rows": 2, "amounts": {"EUR": "3"}, "unread": 0},
        "excluded": [],
        "bad": {"rows": 1, "amounts": {}, "unread": 1},
        "file": {"rows": 3, "amounts": {"EUR": "3"}, "unread": 1},
    }
    assert command(tmp_path, b"%PDF-1.7", "--json") == 2
    shown = json.loads(capfd.readouterr().err.splitlines()[-1])
    assert (shown["rows"], shown["events"], shown["bad"]) == (0, 0, 0)


def test_ids_that_depend_on_the_place_of_a_row_are_said_before_they_are_written(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path, ROWS, toml=TILL.replace("never_changes = true", "")) == 0
    first, *_ = capfd.readouterr().err.splitlines()
    assert "sales.csv must never change: the ids hold the number of the row" in first
    assert command(tmp_path, ROWS, toml=TILL) == 0
    assert "must never change" not in capfd.readouterr().err


COUNTED = """
[counters]
item = ["invoice", "price"]
[row]
amount = "{price}"
currency = "EUR"
[[exclude]]
rule = "fees"
when = { column = "shop", equals = "fee" }
[[event]]
when = { column = "shop", matches = "^[0-9]+$" }
id = "{invoice}:{price}:{item}"
source = "till"
subject = "{shop}"
time = "{time}"
type = [{ amount = "< 0", is = "sale.refunded" }, { is = "sale.recorded" }]
[event.data]
amount = "{price}"
currency = "EUR"
"""
CELL = st.tuples(
    st.sampled_from("AB"), st.sampled_from(["42", "fee", "other"]), st.sampled_from(["1.00", "-2.50", "x", "", "1e5"])
)


@given(st.lists(CELL, max_size=20), st.integers(0, 20))
def test_events_exclusions_and_bad_rows_add_up_to_the_file(rows: list[tuple[str, str, str]], place: int) -> None:
    text = HEADER + "".join(f"{invoice},{shop},2026-10-23,{price},\n" for invoice, shop, price in rows)
    mapping, summary = load_map(COUNTED), FileSummary()
    lines = text.splitlines(keepends=True)
    ids = list[str]()
    for row in converted(read_table(numbered(io.StringIO(text, newline="")), mapping.file, mapping.used_by), mapping):
        summary.add(row)
        ids += [one.event.identity.id for one in row.events]
    figures = [Decimal(price) for _, _, price in rows if price in {"1.00", "-2.50"}]
    assert summary.file.rows == len(rows)
    assert summary.file.amounts.get("EUR", 0) == sum(figures)
    assert summary.file.unread == sum(price in {"x", "1e5"} or (not price and shop != "fee") for _, shop, price in rows)
    excluded = summary.excluded.get("fees", RowSums())
    assert excluded.rows == sum(shop == "fee" for _, shop, _ in rows)
    assert summary.converted.rows + excluded.rows + summary.bad.rows == len(rows)
    assert summary == FileSummary.parse(json.loads(json.dumps(summary.as_dict())))
    # A corrected file with a row more, wherever it is put in, keeps the ids of all others.
    lines.insert(min(place, len(rows)) + 1, "N,42,2026-10-23,9.99,\n")
    table = read_table(numbered(io.StringIO("".join(lines), newline="")), mapping.file, mapping.used_by)
    more = [one.event.identity.id for row in converted(table, mapping) for one in row.events]
    assert sorted(more) == sorted([*ids, "N:9.99:1"])


def test_the_second_row_with_an_id_is_bad_and_names_the_first() -> None:
    toml = COUNTED.replace(":{item}", "")
    rows = "A,42,2026-10-23,1.00,\nB,42,2026-10-23,1.00,\nA,42,2026-10-24,1.00,\n"
    assert bad(HEADER + rows, toml) == [
        (4, "has the id of line 2, 'till#A:1.00': the map does not tell these rows apart")
    ]


def test_a_row_that_nothing_takes_is_bad_and_says_what_it_has() -> None:
    assert bad(HEADER + "A,other,2026-10-23,1.00,\n", COUNTED) == [
        (2, "no rule of the map takes this row, and no [[exclude]] leaves it out: shop is 'other'")
    ]


def test_events_that_do_not_add_up_to_their_row_are_bad() -> None:
    toml = COUNTED.replace('[row]\namount = "{price}"', '[row]\namount = "{price} - 1"')
    assert bad(HEADER + "A,42,2026-10-23,5.00,\n", toml) == [
        (2, "its events add up to 5.00 EUR, but [row] has 4.00 EUR")
    ]


def test_a_counter_is_no_column_of_the_file() -> None:
    with pytest.raises(MapError, match=r"counters.price: is the name of a column of the file, too"):
        outcomes(HEADER, COUNTED.replace("item", "price"))


def test_many_bad_rows_are_counted_and_the_first_hundred_shown(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert command(tmp_path, ROWS + b"x\n" * 1234) == 1
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 105
    assert (lines[100], lines[-1]) == ("... and 1,134 more bad rows", "1,236 rows, 2 events, 1,234 bad rows")


def test_what_can_be_read_of_a_truncated_file_is_converted(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    many = HEADER.encode() + b"".join(b"%d,42,2026-10-23,1,\n" % hash_ for hash_ in range(0, 10**9, 1_000_003))
    assert command(tmp_path, gzip.compress(many)[:-2000], "--json", name="sales.csv.gz") == 2
    out, err = capfd.readouterr()
    counts = json.loads(err.splitlines()[-1])
    assert counts["events"] == len(out.splitlines()) > 100
    assert "cannot be read further, after" in err


def test_an_encoding_that_was_detected_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    names = ["Müller", "Händler", "Größe", "Söhne", "Straße", "Möbel", "Bücher"]
    rows = HEADER + "".join(f"{n},42,2026-10-23,1,{name} und {name}\n" for n, name in enumerate(names * 3))
    assert command(tmp_path, rows.encode("cp1252")) == 0
    out, err = capfd.readouterr()
    assert "sales.csv: read as cp1252, which was detected" in err
    assert "Straße" in out


def command_into(out: int, tmp_path: Path) -> subprocess.CompletedProcess[bytes]:
    """Convert ``ROWS`` in another process, with an open file as its standard output."""
    (tmp_path / "sales.csv").write_bytes(ROWS)
    (tmp_path / "map.toml").write_text(TILL, "utf-8")
    code = "from quarterhour_tools.entry import main; raise SystemExit(main())"
    return subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", code, "csv", str(tmp_path / "sales.csv"), "--map", str(tmp_path / "map.toml")],
        stdout=out,
        stderr=subprocess.PIPE,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_is_no_fault_of_the_file(tmp_path: Path) -> None:
    with Path("/dev/full").open("wb") as full:
        ended = command_into(full.fileno(), tmp_path)
    assert (ended.returncode, ended.stderr.decode()) == (
        2,
        "standard output: cannot be written: [Errno 28] No space left on device\n",
    )


@pytest.mark.slow
def test_a_reader_that_takes_only_a_part_gets_no_success(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    ended = command_into(writer, tmp_path)
    os.close(writer)
    assert (ended.returncode, ended.stderr) == (2, b"")


def test_a_leap_second_with_its_offset_belongs_to_the_day_that_it_ends() -> None:
    [body] = good(HEADER + "A1,43,2016-12-31T23:59:60Z,5,\n")
    assert body["time"] == "2016-12-31T23:59:59Z"


def test_columns_cells_and_the_map_are_compared_in_one_form() -> None:
    toml = unicodedata.normalize("NFD", TILL.replace("{customer}", "{käufer}"))
    text = unicodedata.normalize("NFD", HEADER.replace("customer", "käufer") + "A1,43,2026-10-23,5,Zoë\n")
    [body] = good(unicodedata.normalize("NFC", text), toml)
    assert [body] == good(text, toml) == good(text, unicodedata.normalize("NFC", toml))
    assert body["data"]["customer"] == "Zoë"
