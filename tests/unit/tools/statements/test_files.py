"""The lists of statements and drafts in a folder."""

from decimal import Decimal
from pathlib import Path

import pytest

from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.statements.drafts.draft import COLUMNS, FIGURES, ListedDraft
from quarterhour.statements.keys import DRAFT, LINES, draft_list_key
from quarterhour.statements.listing import SealedObject, write_list
from quarterhour.statements.releases.keys import release_list_key, release_manifest_key
from quarterhour_tools.bucket import Folder
from quarterhour_tools.errors import ToolError
from quarterhour_tools.statements.files import read_statements, without_statement
from tests.support.accounting import content, tax, write_period

NOVEMBER = Period(2026, 11)
NOTHING = SealedObject("0" * 64, 0)


def write_drafts(folder: Path, *agencies: str) -> None:
    """Write the list of November's drafts of agencies."""
    figures = dict.fromkeys(FIGURES, Decimal("1.00"))
    files = {DRAFT: NOTHING, LINES: NOTHING}
    drafts = [ListedDraft(Account(agency, "EUR"), figures, 1, 0, files) for agency in agencies]
    with (folder / draft_list_key(NOVEMBER)).open("w+b") as file:
        write_list(file, COLUMNS, (one.as_row() for one in drafts))


def test_a_draft_with_a_cancelled_statement_has_none(tmp_path: Path) -> None:
    cancelling = content(tax("-100.00", "-19.00"), number="C-000001", cancels={"number": "S-000001"})
    write_period(tmp_path, [content(), cancelling, content(agency="43", number="S-000002")], release=1)
    write_drafts(tmp_path, "42", "43", "44")
    assert [one.account.agency for one in without_statement(Folder(tmp_path), NOVEMBER)] == ["42", "44"]
    again = [content(), cancelling, content(number="S-000003")]
    write_period(tmp_path, again, release=2)
    assert [one.account.agency for one in without_statement(Folder(tmp_path), NOVEMBER)] == ["44"]


def test_a_release_counts_from_its_manifest_on(tmp_path: Path) -> None:
    write_period(tmp_path, [content()], release=1)
    write_period(tmp_path, [content(agency="43", number="S-000002")], release=2)
    (tmp_path / release_manifest_key(2)).unlink()
    assert [one.number for one in read_statements(Folder(tmp_path))] == ["S-000001"]


def test_a_list_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    write_period(tmp_path, [content()], release=1)
    for wrong in ("number\n", "", "\x00"):
        (tmp_path / release_list_key(1)).write_text(wrong, "utf-8")
        with pytest.raises(ToolError, match=r"releases/000001/statements.csv cannot be read"):
            list(read_statements(Folder(tmp_path)))
    (tmp_path / release_list_key(1)).unlink()
    with pytest.raises(ToolError, match=r"releases/000001/statements.csv cannot be read"):
        list(read_statements(Folder(tmp_path)))
