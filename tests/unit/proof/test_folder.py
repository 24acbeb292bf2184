"""Verification of one statement's folder, without any other file."""

import gzip
import json
from collections.abc import Callable
from typing import Any

import pytest

from quarterhour.proof.folder import NOT_CHECKED, FolderVerification, verify_folder
from quarterhour.reports.digests import hexdigest
from quarterhour.statements.document.page import statement_page
from quarterhour.statements.keys import LINES, PAGE, STATEMENT
from tests.support.sealing import Objects, edit, opening, relined, repeat_a_key
from tests.unit.statements.three_months import DECEMBER, NOVEMBER, sealed


@pytest.fixture
def folder() -> Objects:
    """A statement with lines of all kinds."""
    return folder_of(NOVEMBER + "42/GBP/")


def folder_of(prefix: str) -> Objects:
    """Return the files of a document, with the lines of its draft beside them."""
    draft = "/".join([*prefix.split("/")[:4], ""])
    files = {key.removeprefix(prefix): content for key, content in sealed().items() if key.startswith(prefix)}
    return {**files, LINES: sealed()[draft + LINES]}


def found_in(folder: Objects) -> FolderVerification:
    return verify_folder(opening(folder))


def cover_up(folder: Objects) -> None:
    """Make the hash of the lines and the page right again."""
    sealed = {"sha256": hexdigest(folder[LINES]), "size": len(folder[LINES])}
    edit(folder, STATEMENT, lambda document: document["lines_file"].update(sealed))
    folder[PAGE] = statement_page(json.loads(folder[STATEMENT]))


def test_an_untouched_folder_is_consistent_and_says_what_it_cannot_tell(folder: Objects) -> None:
    found = found_in(folder)
    assert (found.problems, found.consistent) == ([], True)
    assert (found.number, found.account, found.period) == ("S-000002", "42#GBP", "2026-11")
    assert (found.closing, found.lines, found.sha256) == ("154.21", 11, hexdigest(folder[STATEMENT]))
    assert found.not_checked[:-1] == NOT_CHECKED
    assert "the base currency" in found.not_checked[-1]


TAXED_BY_CATEGORY = f"{NOVEMBER}%C3%BCn%C3%AF%207%2F../GBP/"
CANCELLATION, REPLACEMENT = f"{NOVEMBER}42/GBP/2/", f"{NOVEMBER}42/GBP/3/"


@pytest.mark.parametrize(
    "key",
    [f"{NOVEMBER}7/EUR/", f"{NOVEMBER}8/BHD/", f"{DECEMBER}42/GBP/", TAXED_BY_CATEGORY, CANCELLATION, REPLACEMENT],
)
def test_every_statement_is_consistent_by_itself(key: str) -> None:
    assert found_in(folder_of(key)).problems == []


def changed(change: Callable[[dict[str, Any]], Any]) -> Callable[[Objects], None]:
    def do(folder: Objects) -> None:
        edit(folder, STATEMENT, change)
        cover_up(folder)

    return do


def relines(change: Callable[[list[str]], Any]) -> Callable[[Objects], None]:
    def do(folder: Objects) -> None:
        folder[LINES] = relined(folder[LINES], change)
        cover_up(folder)

    return do


def replaced(at: int, old: str, new: str) -> Callable[[list[str]], None]:
    def change(lines: list[str]) -> None:
        assert old in lines[at]
        lines[at] = lines[at].replace(old, new)

    return change


def dropped(name: str) -> Callable[[Objects], None]:
    def do(folder: Objects) -> None:
        del folder[name]

    return do


DAMAGE: dict[str, tuple[Callable[[Objects], Any], str]] = {
    "tax": (changed(lambda one: one.update(tax="0.44")), "statement.json: tax: expected 0.45, found 0.44"),
    "opening": (changed(lambda one: one.update(opening="0")), "statement.json: opening: expected 251.49, found 0"),
    "month": (
        changed(lambda one: one.update(to="2026-12-02T00:00:00Z")),
        "statement.json: to: expected 2026-12-01T00:00:00Z, found 2026-12-02T00:00:00Z",
    ),
    "scheme": (changed(lambda one: one["taxes"][0].update(percent="101")), "taxes[0].percent: 101 is not a perc"),
    "exempt": (
        changed(lambda one: one["taxes"][0].update(scheme="exempt")),
        "taxes[0].percent: expected 0, found 19.5",
    ),
    "note": (
        changed(lambda one: one["taxes"][0].update(note="")),
        "statement.json: taxes[0].note: expected VAT 19.5 %, found ",
    ),
    "customer": (
        changed(lambda one: one["customer"].update(discount="5")),
        "statement.json: customer.discount: is unknown",
    ),
    "schema": (lambda folder: edit(folder, STATEMENT, lambda one: one.update(schema=9)), "the schema 9 is unknown"),
    "preview": (lambda folder: edit(folder, STATEMENT, lambda one: one.update(preview=True)), "it is a preview"),
    "no JSON": (lambda folder: folder.update({STATEMENT: b"{"}), "statement.json: cannot be read"),
    "a key twice": (
        lambda folder: repeat_a_key(folder, STATEMENT, "closing", "1"),
        "statement.json: cannot be read: ValueError(\"the key 'closing' appears twice",
    ),
    "no statement": (dropped(STATEMENT), "statement.json: is missing"),
    "no lines": (dropped(LINES), "lines.csv.gz: is missing"),
    "no page": (dropped(PAGE), "statement.html: is missing"),
    "page": (lambda folder: folder.update({PAGE: b"<html>"}), "statement.html: is not the page of statement.json"),
    "hash": (lambda folder: folder.update({LINES: gzip.compress(b"")}), "lines.csv.gz: SHA-256: "),
    "amount": (relines(replaced(6, ",-4.00,", ",-5.00,")), "statement.json: voids: expected -5.00, found -4.00"),
    "commission": (relines(replaced(5, ",1.00,", ",1.01,")), "line 5: shop#m1 pays another commission than its terms"),
    "account": (relines(replaced(6, ",42,GBP,", ",43,GBP,")), "lines.csv.gz: line 6: shop#m2 is of 43#GBP"),
    "period": (relines(replaced(6, ",2026-11,", ",2026-12,")), "line 6: shop#m2 is of a later period, 2026-12"),
    "twice": (relines(lambda lines: lines.insert(7, lines[7])), "lines.csv.gz: line 8: shop#m3 is there twice"),
    "order": (relines(lambda lines: lines.insert(1, lines.pop())), "line 3: shop#e1 is not in the order of recording"),
    "late": (
        changed(lambda one: one.update(recorded_until="2026-11-15T09:07:00Z")),
        "line 12: shop#m8 was recorded after the last line of the statement",
    ),
    "a rate of very many digits": (
        relines(replaced(5, ",0.10,1.00,", ",1E+999999999999,1.00,")),
        "lines.csv.gz: cannot be read: ValueError('1E+999999999999 has too many digits",
    ),
    "number": (relines(replaced(6, ",-4.00,", ",-4.OO,")), "lines.csv.gz: cannot be read"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(folder: Objects, name: str) -> None:
    do, problem = DAMAGE[name]
    do(folder)
    found = found_in(folder)
    assert any(problem in one for one in found.problems), found.problems
    assert not found.consistent
