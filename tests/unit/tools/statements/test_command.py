"""`quarterhour statements --out`: which files it downloads."""

from pathlib import Path

import pytest

from quarterhour_tools.cli import main
from tests.support.accounting import content, tax, write_period

CANCELLED = {"number": "S-000001"}


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    """A month with a statement that was cancelled and issued again, and two of other agencies."""
    folder = tmp_path / "sealed"
    cancelling = content(tax("-100.00", "-19.00"), number="C-000001", cancels=CANCELLED)
    others = [content(agency=agency, number=f"S-{agency}") for agency in ("43", "44")]
    write_period(folder, [content(), cancelling, content(number="S-000002"), *others])
    return folder


def test_every_document_of_a_month_is_downloaded_after_a_cancellation(sealed: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["statements", str(sealed), "--period", "2026-11", "--out", str(out)]) == 0
    of_month = out / "statements" / "2026-11"
    pages = sorted(str(one.relative_to(of_month).parent) for one in of_month.rglob("statement.html"))
    assert pages == ["42/EUR", "42/EUR/2", "42/EUR/3", "43/EUR", "44/EUR"]
    assert len(list(of_month.rglob("lines.csv.gz"))) == 3, "documents of the same lines share them"


def test_a_file_that_is_missing_keeps_no_other_statement_from_being_downloaded(
    sealed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, place = tmp_path / "out", Path("statements", "2026-11", "43", "EUR")
    (sealed / place / "statement.html").unlink()
    assert main(["statements", str(sealed), "--out", str(out)]) == 2
    assert f"{place}/statement.html is listed and is missing" in capsys.readouterr().err
    assert (out / "statements" / "2026-11" / "44" / "EUR" / "statement.html").exists()
