"""`quarterhour reconcile`: a made-up month is explained to the last decimal, and proposals close it."""

import csv
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

    assert (code, error, result["problems"]) == (1, "", [])
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
    # Nothing is proposed of what the provider lacks, of periods, of repeated rows, and of fees alone.
    expected = Counter({"missing there": 8, "missing here": 2, "different: period": 4, "different: fee": 4})
    assert before == 8 + 6 + 3 * 2 + 3 * 2 + 2
    assert left == expected
    assert not proposals_of(tmp_path)
