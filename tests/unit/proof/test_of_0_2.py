"""Verification of the periods of 0.2.0, and of the releases that carry them on."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from quarterhour.model.periods import Period
from quarterhour.proof.verify import Verification, verify
from tests.support.sealing import Objects, edit, opening, relined
from tests.support.statements_in_memory import cover_up, edit_row, read_rows, write_rows
from tests.unit.statements.three_months import DECEMBER, LONG, NOVEMBER, sealed_after_0_2, three_months

JSON = NOVEMBER + "42/GBP/statement.json"
HTML = NOVEMBER + "42/GBP/statement.html"
LINES = NOVEMBER + "42/GBP/lines.csv.gz"
LIST = NOVEMBER + "statements.csv"
MANIFEST = NOVEMBER + "manifest.json"
RELEASED = DECEMBER + "42/GBP/statement.json"
RELEASE = "statements/releases/000001/manifest.json"


@pytest.fixture
def objects() -> Objects:
    return dict(sealed_after_0_2())


def found_in(objects: Objects) -> Verification:
    return verify(opening(objects), objects)


def problems(objects: Objects) -> list[str]:
    return [one for one in found_in(objects).problems if one.startswith("statements/")]


def test_untouched_statements_of_0_2_0_and_their_releases_have_no_problem(objects: Objects) -> None:
    found = found_in(objects)
    assert problems(objects) == []
    assert (found.periods, found.drafts, found.waiting, found.releases, found.lines) == (3, 2, 1, 1, 22)
    assert found.statements == len(read_rows(objects, "statements/2026-10/statements.csv")) + 6 + 1


def test_three_months_of_0_2_0_have_no_problem() -> None:
    objects, _ = three_months(Period(2026, 12))
    found = found_in(objects)
    assert (problems(objects), found.periods, found.drafts, found.releases) == ([], 3, 0, 0)
    last = {row["agency"]: int(row["lines"]) for row in read_rows(objects, DECEMBER + "statements.csv")}
    assert last == {"42": 0, "7": 0, "9": 1, "books": 0, LONG: 0}


SERIES = {
    ("S-", "C-"): ("S-000007", {"C-": {"first": 3, "next": 3}, "S-": {"first": 7, "next": 8}}),
    ("INV-", "CN-"): ("INV-000007", {"CN-": {"first": 3, "next": 3}, "INV-": {"first": 7, "next": 8}}),
    ("S-{year}-", "C-"): ("S-2027-000001", {"C-": {"first": 3, "next": 3}, "S-2027-": {"first": 1, "next": 2}}),
}


@pytest.mark.parametrize("prefixes", SERIES)
def test_numbers_go_on_after_0_2_0_unless_a_prefix_has_the_year(prefixes: tuple[str, str]) -> None:
    objects = sealed_after_0_2(prefixes)
    number, numbers = SERIES[prefixes]
    assert (json.loads(objects[RELEASED])["number"], json.loads(objects[RELEASE])["numbers"]) == (number, numbers)
    assert problems(dict(objects)) == []


# ---------------------------------------------------------------- damage


def figures(**changed: str) -> Callable[[Objects], None]:
    """Change figures of a statement of 0.2.0 wherever they are, and make all hashes right again."""

    def do(objects: Objects) -> None:
        edit(objects, JSON, lambda document: document.update(changed))
        listed = {name: value for name, value in changed.items() if name in read_rows(objects, LIST)[0]}
        edit_row(objects, LIST, "42", "GBP", **listed)
        cover_up(objects)

    return do


def rows_as(change: Callable[[list[dict[str, str]]], Any], key: str = LIST) -> Callable[[Objects], None]:
    def do(objects: Objects) -> None:
        rows = read_rows(objects, key)
        change(rows)
        write_rows(objects, key, rows)
        cover_up(objects)

    return do


def edited(key: str, **changed: Any) -> Callable[[Objects], None]:
    """Change members of a file, and make all hashes right again."""

    def do(objects: Objects) -> None:
        edit(objects, key, lambda document: document.update(changed))
        cover_up(objects)

    return do


def relines(change: Callable[[list[str]], Any]) -> Callable[[Objects], None]:
    def do(objects: Objects) -> None:
        objects[LINES] = relined(objects[LINES], change)
        cover_up(objects)

    return do


def without(key: str) -> Callable[[Objects], None]:
    def do(objects: Objects) -> None:
        del objects[key]

    return do


def begun_again(objects: Objects) -> None:
    """Let the first release begin its numbers with 1, and make all hashes right again."""
    key = RELEASE.replace("manifest.json", "statements.csv")
    edit(objects, RELEASED, lambda document: document.update(number="S-000001"))
    rows_as(lambda rows: rows[0].update(number="S-000001"), key)(objects)
    numbers = {"C-": {"first": 3, "next": 3}, "S-": {"first": 1, "next": 2}}
    edit(objects, RELEASE, lambda document: document.update(numbers=numbers))


def forgotten(objects: Objects) -> None:
    """Let the first released statement forget the balance of 0.2.0, and make all hashes right again."""
    key = RELEASE.replace("manifest.json", "statements.csv")
    document = json.loads(objects[RELEASED])
    changed = {"opening": "0", "closing": document["payable"]}
    edit(objects, RELEASED, lambda one: one.update(previous=None, **changed))
    rows_as(lambda rows: rows[0].update(changed), key)(objects)


DAMAGE: dict[str, tuple[Callable[[Objects], None], str, str]] = {
    "an amount": (
        relines(lambda lines: lines.__setitem__(5, lines[5].replace(",10.00,", ",10.01,"))),
        LINES,
        "line 5: shop#m1: amount: expected 10.00, found 10.01",
    ),
    "a lost line": (relines(lambda lines: lines.pop()), LINES, "line 12: shop#m8 is missing"),
    "the tax": (figures(tax="0.45", payable="2.72", closing="154.21"), JSON, "tax: expected 0.44, found 0.45"),
    "a balance": (figures(opening="250.00", closing="152.71"), JSON, "opening: expected 251.49, found 250.00"),
    "a gap": (figures(number="S-000009"), JSON, "number: expected S-000002, found S-000009"),
    "a release to come": (figures(issued="no"), JSON, "issued: expected True, found no"),
    "a page": (lambda objects: objects.update({HTML: b"<html>"}), HTML, "SHA-256: "),
    "a column of the list": (
        rows_as(lambda rows: rows[0].update(issued="no")),
        LIST,
        "line 2: 42#GBP: issued: expected yes, found no",
    ),
    "no statement": (rows_as(lambda rows: rows.pop(1)), LIST, "has no statement of 42#JPY, which has 1 sealed"),
    "no statement of a balance": (
        rows_as(lambda rows: rows.pop(-2)),
        LIST,
        "has no statement of books#GBP, which has",
    ),
    "a total": (edited(MANIFEST, lines=11), MANIFEST, "lines: expected 18, found 11"),
    "the numbers": (
        edited(
            MANIFEST,
            numbers={
                "statements": {"prefix": "S-", "first": 4, "next": 9},
                "credit_notes": {"prefix": "C-", "first": 2, "next": 3},
            },
        ),
        MANIFEST,
        "numbers.statements.next: expected 7, found 9",
    ),
    **{f"no {key}": (without(key), key, "is missing") for key in (JSON, HTML, LINES, LIST, MANIFEST)},
    "a draft": (
        lambda objects: objects.update({NOVEMBER + "42/GBP/draft.json": b"{}"}),
        NOVEMBER + "42/GBP/draft.json",
        "is in no list",
    ),
    "numbers that begin again": (begun_again, RELEASED, "number: expected S-000007, found S-000001"),
    "a balance that is forgotten": (forgotten, RELEASED, "opening: expected 154.20, found 0"),
    "… and the statement before": (forgotten, RELEASED, "previous: expected {"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(objects: Objects, name: str) -> None:
    do, key, problem = DAMAGE[name]
    do(objects)
    found = problems(objects)
    assert any(one.startswith(f"{key}: ") and problem in one for one in found), found


def test_without_the_last_list_of_0_2_0_the_release_after_it_has_no_problem(objects: Objects) -> None:
    del objects[LIST]
    assert problems(objects) == [f"{LIST}: is missing"]
