"""The documents of a period: hash-checked, and of every schema."""

from argparse import Namespace
from decimal import Decimal
from pathlib import Path

import pytest

from quarterhour.model.periods import Period
from quarterhour.statements.keys import STATEMENT
from quarterhour_tools.accounting.document import StatementDocument, in_force
from quarterhour_tools.accounting.documents import Span, choose, statement_documents
from quarterhour_tools.bucket import Folder
from quarterhour_tools.errors import ToolError
from tests.support.accounting import content, document, tax, write_period

NOVEMBER = Period(2026, 11)
FILE = f"statements/2026-11/42/EUR/{STATEMENT}"


def read(folder: Path) -> list[StatementDocument]:
    return list(statement_documents(Folder(folder), [NOVEMBER]))


def test_the_documents_of_a_period_are_read_as_they_are_listed(tmp_path: Path) -> None:
    write_period(tmp_path, [content(), content(agency="43", number="S-000002")])
    assert [(one.number, one.account.agency, one.closing) for one in read(tmp_path)] == [
        ("S-000001", "42", Decimal("119.00")),
        ("S-000002", "43", Decimal("119.00")),
    ]


def test_a_cancellation_and_what_follows_are_read_from_their_own_releases(tmp_path: Path) -> None:
    cancelling = content(tax("-100.00", "-19.00"), number="C-000001", cancels={"number": "S-000001"})
    write_period(tmp_path, [content(), cancelling, content(number="S-000002")], release=3)
    write_period(tmp_path, [content(agency="43", number="S-000003")], release=7)
    assert [(one.number, one.release, one.revision, one.cancels) for one in read(tmp_path)] == [
        ("S-000001", 3, 1, None),
        ("C-000001", 3, 2, "S-000001"),
        ("S-000002", 3, 3, None),
        ("S-000003", 7, 1, None),
    ]


def test_a_file_that_differs_from_its_hash_is_not_read(tmp_path: Path) -> None:
    write_period(tmp_path, [content()])
    (tmp_path / FILE).write_bytes((tmp_path / FILE).read_bytes().replace(b"119.00", b"118.00"))
    with pytest.raises(ToolError, match=r"42/EUR/statement.json is not the file that was sealed"):
        read(tmp_path)


def test_a_listed_file_that_is_missing_is_named(tmp_path: Path) -> None:
    write_period(tmp_path, [content()])
    (tmp_path / FILE).unlink()
    with pytest.raises(ToolError, match=r"42/EUR/statement.json is listed and is missing"):
        read(tmp_path)


@pytest.mark.parametrize("changed", [{"by_kind": {}}, {"taxes": [{}]}, {"period": "2026-13"}, {"cancels": "S-1"}])
def test_a_file_with_other_content_is_named(tmp_path: Path, changed: dict[str, object]) -> None:
    write_period(tmp_path, [content() | changed])
    with pytest.raises(ToolError, match=r"42/EUR/statement.json cannot be read"):
        read(tmp_path)


def test_a_statement_of_a_later_version_is_refused_with_what_can_read_it(tmp_path: Path) -> None:
    write_period(tmp_path, [content(schema=2)])
    with pytest.raises(ToolError, match=r"cannot be read: .*the schema 2 is unknown: use the version that wrote it"):
        read(tmp_path)


def test_the_parties_of_a_later_period_are_newer_and_then_those_of_a_later_release() -> None:
    first = document(release=1)
    replacing = document(release=3, revision=3)
    next_period = document(release=2, period="2026-12")
    found = [next_period, replacing, first]
    assert sorted(found, key=lambda one: one.age) == [first, replacing, next_period]


def test_documents_in_force_are_not_cancelled_and_cancel_nothing() -> None:
    cancelling = document(number="C-000001", cancels={"number": "S-000001"}, revision=2)
    replacing = document(number="S-000003", revision=3)
    other = document(number="S-000002", period="2026-12")
    assert in_force([document(), other, cancelling, replacing]) == [other, replacing]


def test_the_last_period_is_the_default(tmp_path: Path) -> None:
    def chosen(period: Period | None, issued: Period | None = None) -> str:
        period_, issued_ = (one and Span(one, one) for one in (period, issued))
        return str(choose(Folder(tmp_path), Namespace(period=period_, issued=issued_)))

    with pytest.raises(ToolError, match="no period is sealed yet"):
        chosen(None)
    write_period(tmp_path, [content()])
    write_period(tmp_path, [content(period="2026-12")], "2026-12")
    assert chosen(None) == "of 2026-12"
    assert chosen(NOVEMBER) == "of 2026-11"
    assert chosen(None, NOVEMBER) == "issued in 2026-11"
    assert chosen(Period(2026, 12), NOVEMBER) == "of 2026-12 issued in 2026-11"
    with pytest.raises(ToolError, match="2026-10 is not sealed; the sealed periods are 2026-11, 2026-12"):
        chosen(Period(2026, 10))
