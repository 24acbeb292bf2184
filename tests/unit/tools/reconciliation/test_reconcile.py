"""`quarterhour reconcile`: a made-up month is explained to the last decimal, and proposals close it."""

import csv
import gzip
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.cli import main
from quarterhour_tools.reconciliation.command import LINES, PROPOSALS, REPORT
from tests.support.provider_month import (
    PERIOD,
    agencies_file,
    file_of,
    forty_differences,
    line_of,
    seal,
    sealed_line,
)
from tests.support.repository import ROOT

MAP = ROOT / "examples" / "reconciliation" / "harbour.toml"


def reconcile(place: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict[str, Any], str]:
    arguments = ["reconcile", str(place / "harbour.csv"), str(place / "sealed"), "--map", str(MAP), "--period", PERIOD]
    code = main([*arguments, "--out", str(place / "out"), "--json", *more])
    shown = capsys.readouterr()
    return code, json.loads(shown.out) if shown.out else {}, shown.err


def lines_of(place: Path) -> list[dict[str, str]]:
    with (place / "out" / LINES).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def proposals_of(place: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place / "out" / PROPOSALS).read_text("utf-8").splitlines()]


def test_forty_planted_differences_are_found_explained_and_closed_by_the_proposals(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    month = forty_differences()
    assert len(month.planted) == 40
    (tmp_path / "harbour.csv").write_bytes(file_of(month))
    (tmp_path / "agencies.csv").write_text(agencies_file(), "utf-8")
    seal(tmp_path / "sealed", month.lines)
    options = ("--agencies", str(tmp_path / "agencies.csv"))

    code, result, error = reconcile(tmp_path, capsys, *options)

    assert (code, result["problem_count"]) == (1, 2)
    assert all("has the id of line" in one for one in result["problems"])
    assert error.splitlines() == result["problems"]
    assert [(one["kind"], one["rows"]) for one in result["row_sums"]] == [
        ("file", result["rows"]),
        ("lines", result["rows"] - 3),
        ("bad", 2),
        ("excluded", 1),
    ]
    found = [row for row in lines_of(tmp_path) if row["label"] != "matched"]
    # A difference of currency has a row for each currency.
    assert Counter(row["label"] for row in found) == Counter(month.planted) + Counter({"different: currency": 3})
    assert result["difference_count"] == 40
    sums = {
        (one["measure"], one["currency"], one["label"]): (Decimal(one["provider"]), Decimal(one["ledger"]))
        for one in result["sums"]
        if one["label"] != "matched"
    }
    assert sums == month.sums
    for total in result["totals"]:
        explained = [
            provider - ledger
            for (measure, currency, _), (provider, ledger) in month.sums.items()
            if (measure, currency) == (total["measure"], total["currency"])
        ]
        assert Decimal(total["difference"]) == sum(explained, Decimal(0))
    page = (tmp_path / "out" / REPORT).read_text("utf-8")
    assert "What explains the difference" in page
    assert "tx-back" in page

    proposals = proposals_of(tmp_path)
    (back,) = [one for one in proposals if one["data"]["extra"]["line"] == "tx-back"]
    assert back["data"]["refers_to_source"] == "shop"
    seal(tmp_path / "sealed", map(sealed_line, proposals))
    before = len(proposals)
    code, result, _ = reconcile(tmp_path, capsys, *options)
    left = Counter(row["label"] for row in lines_of(tmp_path) if row["label"] != "matched")
    # Nothing is proposed of what the provider lacks, of periods, and of fees alone.
    expected = Counter({"missing there": 10, "different: period": 4, "different: fee": 4})
    assert before == 8 + 6 + 3 * 2 + 3 * 2 + 2
    assert left == expected
    assert not proposals_of(tmp_path)


@pytest.mark.parametrize(
    ("field", "found"),
    [("charges.payment fee", "0.25"), ("charges.commission", "1.00"), ("commission", "1.25")],
)
def test_the_fee_of_a_provider_is_compared_with_one_charge_or_with_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], field: str, found: str
) -> None:
    line = sealed_line(
        {"source": "shop", "id": "o-1", "type": "sale.recorded", "subject": "41"}
        | {"data": {"amount": "10.00", "currency": "EUR", "extra": {}}}
    )
    charged = {"order_id": "o-1", "commission": "1.25", "charges": "commission:1.00;payment fee:0.25"}
    seal(tmp_path / "sealed", [line | charged])
    harbour = tmp_path / "harbour.toml"
    harbour.write_text(f'fee_field = "{field}"\n{MAP.read_text("utf-8")}', "utf-8")
    (tmp_path / "harbour.csv").write_text(HEAD + GOOD + TOTAL, "utf-8")
    (tmp_path / "agencies.csv").write_text(agencies_file(), "utf-8")
    _, result, _ = reconcile(tmp_path, capsys, "--agencies", str(tmp_path / "agencies.csv"), "--map", str(harbour))
    fees = [one for one in result["totals"] if one["measure"] == "fee"]
    assert [(one["provider"], one["ledger"]) for one in fees] == [("0.5", found)]


HEAD = "Transaction,Booked,Kind,Order,Amount,Currency,Fee,Seller\n"
GOOD = "tx-1,2026-11-02 10:00:00,payment,o-1,10.00,EUR,0.5,Atlas\n"
TOTAL = ",,TOTAL,,10.00,,,\n"


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        (
            "tx-2,2026-11-02 10:00:00,payment,o-2,1O.00,EUR,,Atlas\n",
            "line 3: total.sums.Amount: Amount is '1O.00'",
        ),
        ("tx-2,2026-11-02 10:00:00,payment,o-2,1.00,EURO,,Atlas\n", "line 3: the currency is 'EURO', not"),
        ("tx-2,02/11/2026,payment,o-2,1.00,EUR,,Atlas\n", "line 3: provider_line[1].time: '02/11/2026'"),
        ("tx-2,2026-03-29 02:30:00,payment,o-2,1.00,EUR,,Atlas\n", "does not exist in Europe/Amsterdam"),
        (
            "tx-2,2026-11-02 10:00:00,payment,o-2,1.00,EUR,,Nobody\n",
            "line 3: names 'Nobody', which the file of agencies",
        ),
        (",2026-11-02 10:00:00,payment,o-2,1.00,EUR,,Atlas\n", "line 3: provider_line[1].name: "),
        ("tx-2,2026-11-02 10:00:00,payment,o-2,1,00,EUR,,Atlas\n", "line 3: has 9 columns instead of 8"),
        (",,TOTAL,,99.00,,,\n", "line 3: total.sums.Amount: is 99.00, but the rows add up to 10.00"),
    ],
)
def test_a_bad_row_is_named_with_its_line_and_the_others_are_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: str, problem: str
) -> None:
    is_total = "TOTAL" in rows
    (tmp_path / "harbour.csv").write_text(HEAD + GOOD + rows + ("" if is_total else TOTAL), "utf-8")
    code, result, error = reconcile(tmp_path, capsys, *agencies(tmp_path))
    # A row that has another column wrong counts in the total that the file gives.
    shown = [one for one in result["problems"] if problem in one]
    assert (code, len(shown), result["problem_count"]) == (1, 1, len(result["problems"]))
    assert problem in error
    assert [one["label"] for one in result["differences"]] == ["missing here"]


def agencies(place: Path) -> tuple[str, str]:
    """Seal an empty ledger, and return the option of the agencies."""
    seal(place / "sealed", [])
    (place / "agencies.csv").write_text(agencies_file(), "utf-8")
    return "--agencies", str(place / "agencies.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress((HEAD + GOOD * 300).encode())[:-60], "nothing is compared: it ends early"),
        (HEAD.replace("Fee", "Costs").encode() + GOOD.encode(), "the file has no column 'Fee'"),
        (b"\xff\xfe" + (HEAD + GOOD).encode("latin-1"), "the file has no column 'Kind'"),
        ((HEAD + GOOD.replace("o-1", "Schl\u00fcssel")).encode("latin-1"), "is not UTF-8: set encoding"),
        (b"%PDF-1.7\n" + HEAD.encode(), "PDF"),
    ],
)
def test_a_file_that_cannot_be_read_whole_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, message: str
) -> None:
    (tmp_path / "harbour.csv").write_bytes(content)
    code, result, error = reconcile(tmp_path, capsys, *agencies(tmp_path))
    assert (code, result) == (2, {})
    assert message in error


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,agency\nAtlas\n", "line 2: has 1 cells instead of 2"),
        ("name,agency\nAtlas,43\nAtlas,44\n", "line 3: 'Atlas' has another agency above"),
        ("name,agency\nAtlas,4#3\n", "line 2: needs a name, and an agency"),
        ("seller;agency\n", "line 1: the columns must be name and agency"),
    ],
)
def test_a_wrong_file_of_agencies_is_refused_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, message: str
) -> None:
    (tmp_path / "harbour.csv").write_text(HEAD + GOOD + TOTAL, "utf-8")
    option = agencies(tmp_path)
    (tmp_path / "agencies.csv").write_text(text, "utf-8")
    code, _, error = reconcile(tmp_path, capsys, *option)
    assert (code, message in error) == (2, True), error


def test_a_ledger_that_is_not_sealed_to_the_end_of_the_month_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "harbour.csv").write_text(HEAD + GOOD + TOTAL, "utf-8")
    (tmp_path / "sealed").mkdir()
    _, _, error = reconcile(tmp_path, capsys)
    assert error == "the ledger is sealed until no time, before the end of 2026-11\n"


def test_only_lines_of_the_sources_and_agencies_of_the_file_can_be_missing_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "harbour.csv").write_text(HEAD + TOTAL.replace("10.00", "0"), "utf-8")
    sale = {"type": "sale.recorded", "currency": "EUR", "amount": "1"}
    kept = line_of(id="a", agency="43", order_id="o", **sale)
    others = [line_of(id="b", agency="99", **sale), {**kept, "id": "c", "source": "till"}]
    seal(tmp_path / "sealed", [kept, *others])
    code, result, _ = reconcile(tmp_path, capsys, "--agency", "43", "--source", "shop")
    assert (code, [one["events"] for one in result["differences"]]) == (1, ["shop#a"])
