"""`quarterhour journal`: which documents it writes, and what it says if it writes nothing."""

from pathlib import Path

import pytest

from quarterhour.model.identifiers import Account
from quarterhour_tools.cli import main
from tests.support.accounting import content, rows_of, tax, write_period
from tests.support.repository import ROOT

MAP = str(ROOT / "examples" / "accounting" / "accounts.toml")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    later = content(agency="43", number="S-000002", issued_on="2027-01-05")
    foreign = content(agency="44", number="S-000003", currency="GBP")
    write_period(tmp_path, [content(), later, foreign, content(tax("0.00"), agency="45", number="S-000004")])
    return tmp_path


def test_the_documents_can_be_chosen_by_currency_and_month_of_issue(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / "journal.csv"
    arguments = ["journal", str(folder), "--period", "2026-11", "--accounts", MAP, "--out", str(out)]
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{out}: 3 journals of 2026-11 with 9 lines",
        "1 document without a journal, as nothing was charged or paid",
    ]
    assert main([*arguments, "--currency", "EUR", "--issued", "2026-12"]) == 0
    assert {row[1] for row in rows_of(out.read_bytes())[1:]} == {"S-000001"}
    text = (
        Path(MAP).read_text("utf-8").replace('account = "8400"\nautomatic = true', 'account = "8400"\nvat_code = "19%"')
    )
    (folder / "xero.toml").write_text(text, "utf-8")
    arguments[5] = str(folder / "xero.toml")
    assert main([*arguments, "--currency", "EUR", "--format", "xero", "--date", "period-end"]) == 0
    columns, row, _ = rows_of(out.read_bytes())
    assert row[columns.index("*InvoiceDate")] == "30/11/2026"


def test_a_document_that_is_not_right_holds_up_no_other(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "journal.csv"
    arguments = ["journal", str(folder), "--accounts", MAP, "--out", str(out), "--format", "datev"]
    assert main(arguments) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[0] == f"{folder}/journal-2026.csv, {out}: 2 journals of 2026-11 with 6 lines"
    problem, last = printed.err.splitlines()
    assert problem.startswith("S-000003 is in GBP, without its exchange rate in EUR: expected tax_in, which ")
    assert last == "1 document left out: S-000003"
    assert (b'"S-000001"' in out.read_bytes(), b'"S-000002"' in out.read_bytes()) == (False, True)
    assert main([*arguments, "--currency", "EUR", "--issued", "2027-01"]) == 0
    without = folder / "without.toml"
    without.write_text(Path(MAP).read_text("utf-8").partition("[datev]")[0], "utf-8")
    arguments[3] = str(without)
    assert main(arguments) == 2
    assert capsys.readouterr().err.endswith(f"quarterhour: nothing is written: 1 problem with {without}\n")


def test_payments_are_those_of_the_sealed_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The bad debt clears a statement of an earlier month, whose VAT it corrects."""
    write_period(tmp_path, [content()], "2026-11")
    lines = [
        {"type": "payment.recorded", "amount": "-19.00", "time": "2026-12-01T23:30:00Z", "id": "p1"},
        {
            "type": "payment.recorded",
            "amount": "119.00",
            "recorded_at": "2026-12-02T09:00:00.000Z",
            "id": "p2",
            "kind": "bad_debt",
            "statement": "S-000001",
            "reason": "insolvent",
        },
        {"type": "sale.recorded", "amount": "1.00"},
    ]
    last = content(number="S-000002", period="2026-12", issued_on="2027-01-04", opening="119.00", payments="100.00")
    write_period(tmp_path, [last], "2026-12", payments={Account("42", "EUR"): lines})
    out = tmp_path / "journal.csv"
    arguments = ["journal", str(tmp_path), "--period", "2026-12", "--accounts", MAP, "--out", str(out)]
    assert main(arguments) == 0
    columns, *rows = rows_of(out.read_bytes())
    names = ("date", "role", "account", "debit", "credit", "clears", "kind", "text")
    assert [tuple(row[columns.index(name)] for name in names) for row in rows[3:]] == [
        ("2026-12-02", "receivable", "10042", "19.00", "", "S-000002", "", "Payout Harbour Books GmbH"),
        ("2026-12-02", "payments", "1360", "", "19.00", "S-000002", "", "Payout Harbour Books GmbH"),
        *(
            (
                "2026-12-02",
                role,
                account,
                debit,
                credit,
                "S-000001",
                "bad_debt",
                "Bad debt Harbour Books GmbH: insolvent",
            )
            for role, account, debit, credit in (
                ("receivable", "10042", "", "119.00"),
                ("payments", "2406", "100.00", ""),
                ("vat", "1776", "19.00", ""),
            )
        ),
    ]
    (tmp_path / "statements/2026-12/42/EUR/lines.csv.gz").write_bytes(b"")
    assert main(arguments) == 2
    assert "lines.csv.gz is not the file that was sealed" in capsys.readouterr().err


def test_a_map_that_cannot_be_read_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["journal", str(folder), "--out", str(folder / "x"), "--accounts"]
    assert main([*arguments, str(folder / "none.toml")]) == 2
    assert "none.toml cannot be read" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([*arguments, MAP, "--currency", "euro"])
    assert "expected an ISO 4217 code such as EUR" in capsys.readouterr().err
