"""The roll-forward of all accounts: opening and movements make closing, whatever was cancelled and issued again."""

from decimal import Decimal
from pathlib import Path

import pytest

from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.statements.drafts.draft import COLUMNS as DRAFT_COLUMNS
from quarterhour.statements.drafts.draft import FIGURES, ListedDraft
from quarterhour.statements.keys import DRAFT, LINES, draft_list_key
from quarterhour.statements.listing import SealedObject, write_list
from quarterhour_tools.accounting.roll_forward import COLUMNS, balances
from quarterhour_tools.cli import main
from quarterhour_tools.errors import ToolError
from tests.support.accounting import content, document, rows_of, tax, write_period

DECEMBER = Period(2026, 12)


def draft(agency: str, commission: str) -> ListedDraft:
    """Return a draft of an account in euros."""
    figures = dict.fromkeys(FIGURES, Decimal(0)) | {"commission_exact": Decimal(commission)}
    nothing = SealedObject("0" * 64, 0)
    return ListedDraft(Account(agency, "EUR"), figures, 1, 0, {DRAFT: nothing, LINES: nothing})


def test_opening_and_movements_make_closing_through_cancellations() -> None:
    documents = [
        document(number="S-1", issued_on="2026-11-30", release=1),
        document(tax("-100.00", "-19.00"), number="C-1", opening="119.00", release=2, cancels={"number": "S-1"}),
        document(tax("90.00", "17.10"), number="S-2", release=2, revision=3),
        document(number="S-3", period="2026-12", issued_on="2027-01-04", opening="107.10", release=3),
        document(agency="43", number="S-4", collects="marketplace", proceeds="500.00", payments="-20.00", release=2),
    ]
    drafts = [(Period(2026, 11), draft("42", "90.00")), (DECEMBER, draft("42", "100.00")), (DECEMBER, draft("9", "1"))]
    first, second, third = balances(documents, drafts, DECEMBER)
    assert (first.opening, first.movements, first.closing) == (
        *(Decimal("119.00"), tuple(map(Decimal, ("0", "-10.00", "-1.90", "0.00", "0")))), Decimal("107.10"),
    )  # fmt: skip
    assert first.unissued == Decimal("100.00"), "December's commission is on no statement at the end of December"
    assert second.movements == tuple(map(Decimal, ("0", "100.00", "19.00", "-500.00", "20.00")))
    assert second.closing == Decimal("-361.00")
    assert (third.agency, third.closing, third.unissued) == ("9", Decimal(0), Decimal(1))


def test_documents_that_do_not_follow_from_each_other_are_refused() -> None:
    with pytest.raises(ToolError, match=r"S-000001 opens with 5\.00, and 0 was before it"):
        balances([document(opening="5.00")], [], DECEMBER)


def test_the_sheet_has_all_accounts_and_sums_by_currency(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_period(tmp_path, [content(), content(agency="43", number="S-000002", currency="GBP")])
    with (tmp_path / draft_list_key(Period(2026, 11))).open("w+b") as file:
        write_list(file, DRAFT_COLUMNS, [draft("44", "7.5").as_row()])
    out = tmp_path / "sheet.csv"
    assert main(["roll-forward", str(tmp_path), "--month", "2026-12", "--csv", str(out)]) == 0
    columns, *rows = rows_of(out.read_bytes())
    assert columns == list(COLUMNS)
    assert [(row[0], row[1], row[-2], row[-1]) for row in rows] == [
        ("42", "EUR", "119.00", "0"),
        ("43", "GBP", "119.00", "0"),
        ("44", "EUR", "0", "7.5"),
        ("", "EUR", "119.00", "7.5"),
        ("", "GBP", "119.00", "0"),
    ]
    assert main(["roll-forward", str(tmp_path), "--month", "2026-12"]) == 0
    assert "Harbour Books GmbH" in capsys.readouterr().out
