"""Proposals of maps: certain where the data decide, a question where they do not."""

import argparse
import csv
import io
import json
import re
from contextlib import suppress
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.file_formats.csv.errors import FileError, MapError
from quarterhour.file_formats.csv.events import converted
from quarterhour.file_formats.csv.guess import Given, guess
from quarterhour.file_formats.csv.lines import numbered
from quarterhour.file_formats.csv.map import load_map
from quarterhour.file_formats.csv.table import read_table
from quarterhour_tools.csv import command as csv_command
from tests.support.cases import cases
from tests.support.repository import ROOT

BANK = """Statement of account;;;;
Made on 23.10.2026;;;;

No;Datum;Seller;Betrag;Currency
1;01.10.2026;42;1.259,80 €;EUR
2;13.10.2026;43;12,00 €;eur
3;14.10.2026;42;(5,00 €);EUR
Total;;;1.266,80 €;
"""


def proposed(text: str, name: str = "sales.csv") -> str:
    return guess(numbered(io.StringIO(text, newline="")), Given(name), encoding=None, encoding_in_doubt=False)[0]


def questions(toml: str) -> list[str]:
    return re.findall(r"^(\S+) = \[?\"\?\"\]? # QUESTION", toml, re.MULTILINE)


def answered(toml: str, **answers: str) -> str:
    """Return a map with answers to its questions, or with the first answer of each."""
    for name, answer in answers.items():
        toml = re.sub(rf'^{name} = \[?"\?"\]? # QUESTION.*$', f"{name} = {answer}", toml, flags=re.MULTILINE)
    return re.sub(r'= \[?"\?"\]? # QUESTION: (.+?)(?: or .*)?$', r"= \1", toml, flags=re.MULTILINE)


def bodies(text: str, toml: str) -> list[dict[str, Any]]:
    mapping = load_map(toml)
    rows = list(converted(read_table(numbered(io.StringIO(text, newline="")), mapping.file, mapping.used_by), mapping))
    assert not [row.bad for row in rows if row.bad]
    return [event.body for row in rows for event in row.events]


def shown(text: str, toml: str) -> list[tuple[str, str, str, str, str, str]]:
    return [
        (one["id"], one["subject"], one["time"], one["type"], one["data"]["amount"], one["data"]["currency"])
        for one in bodies(text, toml)
    ]


def test_a_map_without_questions_works_as_it_is() -> None:
    toml = proposed(BANK)
    assert questions(toml) == []
    assert shown(BANK, toml) == [
        ("1", "42", "2026-10-01T00:00:00Z", "sale.recorded", "1259.80", "EUR"),
        ("2", "43", "2026-10-13T00:00:00Z", "sale.recorded", "12.00", "EUR"),
        ("3", "42", "2026-10-14T00:00:00Z", "sale.refunded", "-5.00", "EUR"),
    ]


def test_a_header_is_found_below_titles_with_several_cells() -> None:
    titled = BANK.replace("Made on 23.10.2026;;;;", "Made on;23.10.2026;;;\nAccount;Harbour Books;GB;;")
    toml = proposed(titled)
    assert "line 5 is the header" in toml
    assert shown(titled, toml) == shown(BANK, proposed(BANK))


def test_a_row_of_texts_in_the_middle_is_no_header() -> None:
    rows = "2026-10-01,42,12.50,EUR,Candle\nn/a,n/a,n/a,EUR,Candle\n2026-10-02,42,7.25,EUR,Lamp\n"
    assert "the file has no header" in proposed(rows)


def test_a_file_that_is_named_as_the_billed_orders_gets_another_source() -> None:
    assert 'source = "orders-csv"' in proposed(BANK, "orders.csv")


def test_the_proposal_shows_what_is_certain_and_three_rows_as_events() -> None:
    toml = proposed(BANK)
    for line in ("line 4 is the header", "numbers have the form 1.234,56", "'Seller' is the agency"):
        assert f"# - {line}\n" in toml
    samples = [json.loads(line[2:]) for line in toml.splitlines() if line.startswith("# {")]
    assert [one["data"]["amount"] for one in samples] == ["1259.80", "12.00", "-5.00"]


AMBIGUOUS = """order,seller,date,amount,currency
A,42,03/04/2026,"1,234",EUR
B,42,05/06/2026,"2,500",EUR
"""


def test_what_the_data_do_not_decide_is_a_question() -> None:
    toml = proposed(AMBIGUOUS)
    assert questions(toml) == ["decimal", "thousands", "formats"]
    with pytest.raises(MapError, match=r'numbers.decimal: is still "\?"'):
        load_map(toml)
    point = answered(toml, decimal='"."', thousands='","', formats='["%d/%m/%Y"]')
    comma = answered(toml, decimal='","', thousands='""', formats='["%m/%d/%Y"]')
    assert [(row[2][:10], row[4]) for row in shown(AMBIGUOUS, point)] == [
        ("2026-04-03", "1234"),
        ("2026-06-05", "2500"),
    ]
    assert [(row[2][:10], row[4]) for row in shown(AMBIGUOUS, comma)] == [
        ("2026-03-04", "1.234"),
        ("2026-05-06", "2.500"),
    ]


def test_one_row_can_decide() -> None:
    assert questions(proposed(AMBIGUOUS + 'C,42,13/06/2026,"2,5",EUR\n')) == []


amounts = st.lists(st.decimals(0, 10**6, places=2) | st.integers(0, 10**7).map(Decimal), min_size=1, max_size=5)


@given(amounts, st.sampled_from([(".", ""), (",", ""), (".", ","), (",", "."), (".", " "), (",", " "), (".", "'")]))
def test_a_certain_form_of_numbers_reads_what_was_written(numbers: list[Decimal], form: tuple[str, str]) -> None:
    swap = {",": form[1], ".": form[0]}
    cells = ["".join(swap.get(one, one) for one in f"{number:,f}") for number in numbers]
    text = "id|seller|amount|currency\n" + "".join(f"{n}|42|{cell}|EUR\n" for n, cell in enumerate(cells))
    toml = proposed(text)
    if "decimal" in questions(toml):
        toml = answered(toml, decimal=json.dumps(form[0]), thousands=json.dumps(form[1]))
    time = re.sub(r"^type.*$", r'\g<0>\ntime = "2026-10-01"', toml, flags=re.MULTILINE)
    assert [Decimal(row[4]) for row in shown(text, time)] == numbers


@given(
    st.lists(st.dates(date(1990, 1, 1), date(2090, 1, 1)), min_size=1, max_size=4),
    st.sampled_from(["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%m-%d-%Y", "%Y-%m-%d"]),
)
def test_a_certain_form_of_times_reads_what_was_written(days: list[date], form: str) -> None:
    cells = [day.strftime(form) for day in days]
    text = "id,seller,date,amount,currency\n" + "".join(f"{n},42,{cell},1.5,EUR\n" for n, cell in enumerate(cells))
    toml = answered(proposed(text), formats=json.dumps([form]))
    assert [row[2][:10] for row in shown(text, toml)] == [str(day) for day in days]


cells = st.sampled_from(
    [
        "id",
        "seller",
        "amount",
        "price",
        "quantity",
        "currency",
        "date",
        "type",
        "Total",
        'q"',
        "a{b}",
        "x\ty",
        "\x07",
        "",
        "1",
        "2",
        "€5.00",
        "$1,234.56",
        "1.234",
        "(3)",
        "4-",
        "EUR",
        "2026-10-01",
        "03/04/2026",
        "NULL",
        "#12",
        "total",
    ]
)


@given(st.lists(st.lists(cells, min_size=2, max_size=6), min_size=1, max_size=6), st.sampled_from(",;\t|"))
def test_any_table_gives_a_map_that_its_answers_complete(table: list[list[str]], delimiter: str) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=delimiter).writerows(table)
    with suppress(FileError):
        toml = proposed(out.getvalue())
        load_map(answered(toml))
        assert all(one.isprintable() or one == "\n" for one in toml)


def test_which_rows_count_is_a_question_where_rows_have_types() -> None:
    toml = proposed("id,seller,amount,currency,type\n1,42,5.00,EUR,charge\n2,42,-4.00,EUR,payout\n")
    assert "charge (1), payout (1)" in toml
    assert questions(toml) == ["type"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("id,amount,currency\n1,5.00,EUR\n", ["subject"]),
        ("id,seller,amount\n1,42,5.00\n", ["currency"]),
        ("id,seller,amount\n1,42,€5.00\n", []),
        ("id,seller,Amount (EUR)\n1,42,5.00\n", []),
        ("id,seller,amount\n1,42,$5.00\n", ['"$"', "currency"]),
        ("id,seller,amount,currency\n1,42,$5.00,CAD\n", []),
        ("id,seller,gross,net,currency\n1,42,5.00,4.00,EUR\n", ["amount"]),
        ("id,seller,start,end,amount,currency\n1,42,2026-10-01,2026-10-02,5.00,EUR\n", ["time"]),
        ("sku,seller,quantity,unit price,currency\nA,42,2,5.00,EUR\nA,42,1,5.00,EUR\n", []),
    ],
)
def test_each_choice_is_a_question_and_nothing_else(text: str, expected: list[str]) -> None:
    assert questions(proposed(text)) == expected


PAID = """no,seller,{column},date,amount,currency,type
1,42,S-000001,2026-11-13T09:00:00Z,5.00,EUR,payment
2,42,S-000001,2026-11-14T09:00:00Z,4.00,EUR,{other}
"""


def test_the_statement_of_payments_is_taken_if_it_is_certain() -> None:
    text = PAID.format(column="Statement Number", other="Payment")
    toml = proposed(text)
    assert questions(toml) == []
    assert "'Statement Number' is the statement that a payment pays" in toml
    assert "the rows are payments, by 'type'" in toml
    assert "a payment is above 0 if the agency paid, and below 0 if it was paid" in toml
    first, second = bodies(text, toml)
    assert (first["type"], first["id"], first["data"]) == (
        *("payment.recorded", "1"),
        {"amount": "5.00", "currency": "EUR", "statement": "S-000001"},
    )
    assert (second["id"], second["data"]["statement"]) == ("2", "S-000001")


@pytest.mark.parametrize(
    ("column", "other", "expected"),
    [
        ("Rechnungsnummer", "payment", ["type", "statement"]),
        ("invoice", "Zahlung", ["type", "statement"]),
        ("statement", "sale", ["type", "statement"]),
        ("Invoice No", "sale", ["type", "statement"]),
        ("order", "sale", ["type"]),
    ],
)
def test_the_statement_of_payments_is_a_question_if_it_is_not_certain(
    column: str, other: str, expected: list[str]
) -> None:
    text = PAID.format(column=column, other=other)
    toml = proposed(text)
    assert questions(toml) == expected
    if "statement" in expected:
        cases = '[{ column = "type", equals = "sale", is = "sale.recorded" }, { is = "payment.recorded" }]'
        cells = f'[{{ column = "type", equals = "payment", is = "{{{column}}}" }}]'
        whole = answered(toml, **({"type": cases, "statement": cells} if other == "sale" else {}))
        types = [one[3] for one in shown(text, whole)]
        assert types == ["payment.recorded", "sale.recorded" if other == "sale" else "payment.recorded"]


def test_an_invoice_is_no_statement_where_no_row_is_a_payment() -> None:
    sales = "invoice,seller,amount,currency\nA-1,42,5.00,EUR\nA-2,42,4.00,EUR\n"
    toml = proposed(sales)
    assert (questions(toml), "statement =" in toml) == ([], False)
    named = proposed(sales.replace("invoice", "id").replace("currency", "currency,statement").replace("EUR", "EUR,S-1"))
    assert questions(named) == ["statement"]
    assert "Only events of the type payment.recorded have one" in named


def test_a_file_without_a_header_gets_names_by_number() -> None:
    toml = proposed("1,2026-10-01,5.00\n2,2026-10-02,6.00\n")
    assert 'columns = ["column 1", "column 2", "column 3"]' in toml
    assert shown("1,2026-10-01,5.00\n", answered(toml))[0][2] == "2026-10-01T00:00:00Z"


def test_the_export_of_a_provider_is_recognized() -> None:
    assert "a map that comes with the tools, --map stripe: Stripe: balance change" in proposed(
        (ROOT / "tests/support/exports/stripe.csv").read_text("utf-8")
    )


def test_a_header_that_is_repeated_is_named() -> None:
    text = "id,seller,amount,currency\n1,42,5.00,EUR\nid,seller,amount,currency\n"
    assert "header = 1" in proposed(text)


@cases(
    "name",
    [
        *("Provision", "fee", "Commission (EUR)", "Net fee", "Comisión", "Servicegebühr", "Kommission", "kommisjon"),
        *("Provisjon", "Komisja", "Komise", "Courtage", "charge", "ServiceCharge", "Charges", "Royalty", "royalties"),
        *("Marge", "Margin", "Take rate", "Kosten", "Deduction", "deductions_eur"),
    ],
)
def test_a_column_that_looks_like_a_commission_is_a_question(name: str) -> None:
    toml = proposed(f"id,agency,gross,{name},note\n1,42,10.00,1.50,a\n2,42,20.00,3.00,b\n")
    assert f"Is {name!r} a commission or a fee?" in toml
    assert f'"{name}" = "?" # QUESTION: "{{{name}}}"' in toml
    assert "# - these columns are not used: 'note'" in toml


@pytest.mark.parametrize("cells", [("15 %", "12.5 %"), ("15%", "15%"), ("1.234,5 %", "2 %"), ("-15 %", "0")])
def test_a_fee_in_percent_is_a_question_and_is_kept_as_it_is_written(cells: tuple[str, str]) -> None:
    text = "id;agency;gross;currency;date;fee\n" + "".join(
        f"{n};42;10.00;EUR;2026-10-01;{cell}\n" for n, cell in enumerate(cells)
    )
    toml = proposed(text)
    assert "Is 'fee' a commission or a fee?" in toml
    assert [one["data"]["extra"] for one in bodies(text, answered(toml))] == [{"fee": cell} for cell in cells]


@cases(
    "name",
    [
        *("internet", "Recharge", "discharged", "charge id", "Charge No", "Versandkosten", "marked"),
        *("Market", "royal", "deductible", "intake rate", "commodity"),
    ],
)
def test_a_column_of_numbers_whose_name_only_resembles_a_fee_is_no_question(name: str) -> None:
    toml = proposed(f"id,agency,gross,{name}\n1,42,10.00,7\n2,42,20.00,8\n")
    assert "a commission or a fee?" not in toml
    assert f"# - these columns are not used: {name!r}" in toml


def test_columns_that_are_no_fee_are_named_without_a_question(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (file := tmp_path / "sales.csv").write_text("id,agency,gross,internet,Fee note\n1,42,10.00,7,a\n2,42,20.00,8,b\n")
    command(str(file), "--guess", "--json")
    found = json.loads(capfd.readouterr().err.splitlines()[-1])
    assert found["unused"] == ["internet", "Fee note"]
    assert not any("a fee" in one for one in found["questions"])


def test_the_sign_before_a_number_is_cut() -> None:
    toml = proposed("order,seller,amount,currency\n#1,42,5.00,EUR\n#2,42,5.00,EUR\n").replace(
        "[event.data]", 'time = "2026-10-01"\n\n[event.data]'
    )
    assert [row[0] for row in shown("order,seller,amount,currency\n#1,42,5.00,EUR\n", toml)] == ["1"]


@pytest.mark.parametrize("text", ["", "\n", "just text\n", ",,\n,,\n"])
def test_what_is_no_table_is_refused(text: str) -> None:
    with pytest.raises(FileError, match="is not a table"):
        proposed(text)


def test_too_many_columns_are_refused() -> None:
    with pytest.raises(FileError, match="has 1,001 columns"):
        proposed(",".join(f"c{n}" for n in range(1001)) + "\n")


def test_names_of_columns_are_shown_escaped() -> None:
    toml = proposed('id,seller,amount,currency,"\x1b[2J"\n1,42,5.00,EUR,x\n', "\x1b.csv")
    assert "\x1b" not in toml
    load_map(toml)


def command(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    csv_command.configure(parser)
    return csv_command.run(parser.parse_args(arguments))


def test_the_command_writes_a_map_that_it_takes(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bank.csv").write_text(BANK, "utf-8")
    assert command(str(tmp_path / "bank.csv"), "--guess") == 0
    (tmp_path / "map.toml").write_text(capfd.readouterr().out, "utf-8")
    assert command(str(tmp_path / "bank.csv"), "--map", str(tmp_path / "map.toml")) == 0
    assert len(capfd.readouterr().out.splitlines()) == 3


def test_an_encoding_in_doubt_is_a_question(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bank.csv").write_bytes(BANK.encode("cp1252"))
    assert command(str(tmp_path / "bank.csv"), "--guess") == 1
    out, err = capfd.readouterr()
    assert 'encoding = "?" # QUESTION: "cp1252"' in out
    assert "cp1252 reads" in err


def test_an_amount_that_the_rows_of_an_order_repeat_is_a_question() -> None:
    text = "Order ID,Seller,Date,Item,Total,Currency\n"
    text += "1,42,2026-10-13,a,50.00,EUR\n1,43,2026-10-13,b,50.00,EUR\n2,42,2026-10-14,a,7.00,EUR\n"
    toml = proposed(text)
    assert any(
        "as an order's total" in line for line in toml.splitlines() if line.startswith("# - Is 'Total' the amount")
    )
    assert "# - 'Total' is the amount" not in toml


def test_columns_of_refunds_statuses_and_zones_are_questions_and_so_is_an_id_that_rows_lack() -> None:
    text = "Payment ID,Seller,Date,Time Zone,Amount,Currency,Refunded Amount,State\n"
    text += "p1,42,2026-10-13 10:00,Europe/Paris,50.00,EUR,0.00,paid\n"
    text += ",42,2026-10-14 10:00,Europe/Paris,7.00,EUR,7.00,failed\n"
    toml = proposed(text)
    listed = [line for line in toml.splitlines() if line.startswith("# - ")]
    for part in (
        "Does 'Refunded Amount' hold what was refunded of a row?",
        "Does 'State' say which rows are sales?",
        "It has paid (1), failed (1).",
        "Does 'Time Zone' name the zone of the times?",
        "Is 'Payment ID' the key of a row? 1 of 2 rows have none, and are bad.",
    ):
        assert any(part in line for line in listed), part
    assert 'zone = "?" # QUESTION: "{Time Zone}"' in toml


def test_a_net_amount_beside_others_is_no_answer() -> None:
    toml = proposed("ID,Seller,Date,Net amount,Fee,Gross transaction,Currency\nx1,42,2026-10-13,8.50,-1.50,10.00,EUR\n")
    assert "# - Which column is the amount of a sale?" in toml


@pytest.mark.parametrize("gross", ["--", "n/a", "?"])
def test_a_net_amount_is_never_certain_beside_a_gross_one_that_few_rows_have(gross: str) -> None:
    text = f"order,agency,date,currency,gross,net\nA,1,2026-10-01,EUR,100.00,90.00\nB,1,2026-10-02,EUR,{gross},-3.00\n"
    text += f"C,1,2026-10-03,EUR,{gross},-4.00\n"
    assert "amount" in questions(proposed(text))


def test_a_column_that_is_named_as_a_time_and_cannot_be_read_is_a_question() -> None:
    text = "order,agency,date,amount,currency\nA,1,2 sept. 26,10.00,EUR\nB,1,13 sept. 26,11.00,EUR\n"
    toml = proposed(text)
    assert "formats" in questions(toml)
    assert "No form that is known reads '2 sept. 26'" in toml
    assert 'time = "{date}"' in toml


def test_an_item_that_an_order_has_at_two_prices_keeps_its_id_in_a_corrected_file() -> None:
    head, rows = (
        "order,agency,date,product,amount,currency\n",
        "U-2,1,2026-10-02,Lamp,20.00,EUR\nU-2,1,2026-10-02,Bulb,5.00,EUR\n",
    )
    toml = answered(proposed(head + rows))
    first = {one["id"] for one in bodies(head + rows, toml)}
    added = "U-2,1,2026-10-02,Lamp,15.00,EUR\n"
    assert len({one["id"] for one in bodies(head + added + rows, toml)} - first) == 1


def test_a_number_that_may_be_a_thousand_beside_another_form_is_a_question() -> None:
    text = 'Sale ID,Date,Seller,Amount,Currency\nA1,2026-10-01,x,"1,234",EUR\nA2,2026-10-02,x,"2.500,00",EUR\n'
    toml = proposed(text)
    assert questions(toml) == ["decimal", "thousands"]
    assert "'1,234' has three decimal places by the form 1.234,56, others do not" in toml
    assert [one["data"]["amount"] for one in bodies(text, answered(toml, decimal='","', thousands='"."'))] == [
        "1.234",
        "2500.00",
    ]
    either = load_map(answered(toml))
    table = read_table(numbered(io.StringIO(text, newline="")), either.file, either.used_by)
    assert [bool(row.bad) for row in converted(table, either)] == [True, False]


def test_a_time_that_some_rows_lack_beside_one_that_all_have_is_a_question() -> None:
    head, sold = (
        "id,ordered_at,paid_at,agency,amount,currency\n",
        "1,2026-09-30T23:00:00Z,2026-10-01T10:00:00Z,a,1.50,EUR\n",
    )
    open_ = "2,2026-10-01T11:00:00Z,,a,2.50,EUR\n"
    toml = proposed(head + sold + open_)
    assert questions(toml) == ["time"]
    assert [one["time"] for one in bodies(head + sold + open_, answered(toml, time='"{ordered_at}"'))] == [
        "2026-09-30T23:00:00Z",
        "2026-10-01T11:00:00Z",
    ]
    assert "the time is 'paid_at', and not 'ordered_at'" in proposed(head + sold)
