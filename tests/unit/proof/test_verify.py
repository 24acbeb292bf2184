"""Verification of drafts and releases: untouched ones are proven, and every damage is found and named."""

import gzip
import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.proof.verify import Verification, verify
from quarterhour.statements.keys import folder_of
from quarterhour.statements.releases.requests import Desired
from tests.support.sealing import Objects, edit, opening, relined, repeat_a_key, seal
from tests.support.statements_in_memory import StatementRuns, cover_up, edit_row, read_rows, write_rows
from tests.unit.statements.three_months import (
    DECEMBER,
    NOVEMBER,
    PROFILES,
    SETTINGS,
    at,
    decide,
    sealed,
    sold,
    three_months,
)

LINES = NOVEMBER + "42/GBP/lines.csv.gz"
JSON = NOVEMBER + "42/GBP/statement.json"
DRAFT = NOVEMBER + "42/GBP/draft.json"
DRAFTS = NOVEMBER + "drafts.csv"
MANIFEST = NOVEMBER + "manifest.json"
LIST = "statements/releases/000002/statements.csv"
RELEASE = "statements/releases/000002/manifest.json"
CANCELLED = NOVEMBER + "42/GBP/2/statement.json"
RELEASE_5 = "statements/releases/000005/manifest.json"
REPLACED = NOVEMBER + "42/GBP/3/statement.json"


@pytest.fixture
def objects() -> Objects:
    return dict(sealed())


def found_in(objects: Objects) -> Verification:
    return verify(opening(objects), objects)


def problems(objects: Objects) -> list[str]:
    """Return the problems of the statements; the reports have only the gaps between them."""
    return [one for one in found_in(objects).problems if one.startswith("statements/")]


def test_untouched_statements_have_no_problem(objects: Objects) -> None:
    found = found_in(objects)
    assert [one for one in found.problems if "manifest.json: from:" not in one] == []
    assert (found.periods, found.drafts, found.waiting, found.lines) == (3, 10, 1, 22)
    assert (found.releases, found.documents, found.statements) == (5, 11, 9)


def test_months_that_are_released_at_once_have_no_problem(objects: Objects) -> None:
    for key in [key for key in objects if key.startswith("statements/")]:
        del objects[key]
    assert StatementRuns(objects, SETTINGS, PROFILES).run(at("2027-01-05 00:17")) == ["2026-10", "2026-11", "2026-12"]
    found = found_in(objects)
    assert (problems(objects), found.lines, found.releases, found.documents) == ([], 22, 1, 9)


def test_late_lines_may_have_more_decimals_than_those_of_the_period() -> None:
    objects: Objects = {}
    late = sold("2026-11-15 09:00", "1", "0.125", time="2026-10-02T00:00:00Z", prior_period="1")
    own = sold("2026-11-15 09:01", "2", "112")
    run = seal(objects, "202611150900", "202611150900", [late, own], ("", ""))
    seal(objects, "202612040000", "202612040000", [sold("2026-12-04 00:01", "3")], run)
    runs = StatementRuns(objects, replace(SETTINGS, base=""), PROFILES)
    assert runs.run(at("2026-12-04 00:17")) == ["2026-10", "2026-11"]
    parts = json.loads(objects[DRAFT])["sums"]["parts"]
    assert [part[:4] for part in parts] == [["sales", True, 1, "0.125"], ["sales", False, 1, "112"]]
    assert (problems(objects), found_in(objects).documents) == ([], 1)


def test_a_statement_may_be_cancelled_while_a_later_month_is_released() -> None:
    objects, runs = three_months()
    decide(runs, "2026-12", Desired.CANCEL, at("2027-01-06 09:00"))
    runs.run(at("2027-01-06 09:00"))
    decide(runs, "2026-10", Desired.CANCEL, at("2027-01-06 10:00"))
    decide(runs, "2026-12", Desired.RELEASE, at("2027-01-06 10:00"))
    runs.run(at("2027-01-06 10:00"))
    documents = [
        (row["period"], row["cancels"]) for row in read_rows(objects, "statements/releases/000005/statements.csv")
    ]
    assert documents == [("2026-10", "S-000001"), ("2026-12", "")]
    found = found_in(objects)
    assert (problems(objects), found.waiting, found.releases, found.documents) == ([], 2, 5, 12)


def test_the_releases_of_a_month_without_a_manifest_are_one_problem(objects: Objects) -> None:
    del objects[DECEMBER + "manifest.json"]
    unlisted, named = problems(objects)
    assert unlisted.startswith(f"{DECEMBER}manifest.json: is missing, so 8 files of 2026-12 are in no list")
    listed = "statements/releases/000003/statements.csv"
    assert named == f"{DECEMBER}manifest.json: cannot be read, and {listed} names the period"


def unreleased(objects: Objects, first: int = 1) -> None:
    """Remove the releases from one on, with their documents."""
    for number in range(first, 6):
        for row in read_rows(objects, f"statements/releases/{number:06d}/statements.csv"):
            folder = f"statements/{row['period']}/{folder_of(row['agency'])}/{row['currency']}/"
            folder += "" if row["revision"] == "1" else f"{row['revision']}/"
            del objects[folder + "statement.json"], objects[folder + "statement.html"]
            objects.pop(folder + "statement.xml", None)
        for name in ("manifest.json", "statements.csv"):
            del objects[f"statements/releases/{number:06d}/{name}"]


def test_drafts_that_are_not_released_have_no_problem(objects: Objects) -> None:
    unreleased(objects)
    found = found_in(objects)
    assert (problems(objects), found.drafts, found.waiting, found.releases) == ([], 10, 10, 0)


def test_lines_of_an_open_period_are_in_no_draft_yet(objects: Objects) -> None:
    unreleased(objects, 3)
    for key in [key for key in objects if key.startswith(DECEMBER)]:
        del objects[key]
    found = found_in(objects)
    assert (found.periods, found.lines) == (2, 20)
    assert problems(objects) == []


@pytest.mark.parametrize("periods", [{"2026-12"}, {"2026-10", "2026-11", "2026-12"}])
def test_files_of_the_newest_periods_without_a_manifest_are_not_proven(objects: Objects, periods: set[str]) -> None:
    unreleased(objects)
    for period in periods:
        del objects[f"statements/{period}/manifest.json"]
    hint = "are in no list: if their run is under way, verify again when it has ended"
    found = problems(objects)
    assert {one.split("/")[1] for one in found if one.endswith(hint)} == periods
    assert len(found) == len(periods)


def test_reports_without_statements_have_no_problem_of_statements(objects: Objects) -> None:
    for key in [key for key in objects if key.startswith("statements/")]:
        del objects[key]
    assert (problems(objects), found_in(objects).periods) == ([], 0)


# ---------------------------------------------------------------- every figure


FREE = {
    *("owner", "customer", "taxes", "payment_days", "language", "title", "collects", "collected", "rounding"),
}
"""What does not follow from other files, or without which nothing can be recomputed."""


def flipped(value: Any) -> Any:
    """Return a value with another last digit, or another value if it is none."""
    if isinstance(value, dict):
        return {name: flipped(one) for name, one in value.items()}
    if isinstance(value, list):
        return [flipped(one) for one in value]
    if isinstance(value, bool | int):
        return not value if isinstance(value, bool) else value + 1
    text = str(value)
    return text[:-1] + str((int(text[-1]) + 1) % 10) if text[-1:].isdigit() else text + "~"


def leaves(value: Any, path: str = "") -> list[str]:
    """Return the path of every value in JSON that is not an object or list."""
    if isinstance(value, dict):
        return [leaf for name, one in value.items() for leaf in leaves(one, f"{path}.{name}" if path else name)]
    if isinstance(value, list):
        return [leaf for index, one in enumerate(value) for leaf in leaves(one, f"{path}[{index}]")]
    return [path]


def test_each_value_of_a_statement_is_compared(objects: Objects) -> None:
    document = json.loads(objects[JSON])
    shown = {name: value for name, value in document.items() if name not in FREE}
    taxes = [{**row, "base": flipped(row["base"]), "tax": flipped(row["tax"])} for row in document["taxes"]]
    collected = [{**row, "net": flipped(row["net"])} for row in document["collected"]]
    objects[JSON] = json.dumps({**document, **flipped(shown), "taxes": taxes, "collected": collected}).encode()
    named = {one.removeprefix(f"{JSON}: ").partition(": ")[0] for one in problems(objects) if one.startswith(JSON)}
    assert named >= {*leaves(shown), "taxes[0].base", "taxes[0].tax", "collected[0].net"}
    assert len(leaves(shown)) > 100


def test_each_figure_of_the_list_is_compared(objects: Objects) -> None:
    (row, *_) = read_rows(objects, LIST)
    named = {"agency", "currency", "document", "period", "revision", "cancels"}
    figures = {name: value for name, value in row.items() if name not in named}
    changed = {name: flipped(value) for name, value in figures.items() if not name.endswith(("sha256", "size"))}
    edit_row(objects, LIST, "42", "GBP", **changed)
    start = f"{LIST}: line 2: 42#GBP: "
    named = {one.removeprefix(start).partition(": ")[0] for one in problems(objects) if one.startswith(start)}
    assert named == set(changed)


def test_each_value_of_a_draft_is_compared(objects: Objects) -> None:
    document = json.loads(objects[DRAFT])
    sums = {**document["sums"], "parts": [[*part[:2], *flipped(part[2:])] for part in document["sums"]["parts"]]}
    sums |= {name: flipped(sums[name]) for name in ("days", "terms", "further_terms", "tax_points", "base")}
    shown = {name: flipped(value) for name, value in document.items() if name != "sums"}
    objects[DRAFT] = json.dumps({**shown, "sums": sums}).encode()
    named = {one.removeprefix(f"{DRAFT}: ").partition(": ")[0] for one in problems(objects) if one.startswith(DRAFT)}
    right = {**document, "sums": {**document["sums"], "parts": {}}}
    assert named >= {leaf for leaf in leaves(right) if leaf != "sums.parts"}
    assert sum(name.startswith("sums.parts.") for name in named) == 3 * len(sums["parts"])


def test_each_figure_of_the_list_of_drafts_is_compared(objects: Objects) -> None:
    (row, *_) = read_rows(objects, DRAFTS)
    figures = {name: value for name, value in row.items() if name not in {"agency", "currency"}}
    changed = {name: flipped(value) for name, value in figures.items() if not name.endswith(("sha256", "size"))}
    edit_row(objects, DRAFTS, "42", "GBP", **changed)
    start = f"{DRAFTS}: line 2: 42#GBP: "
    named = {one.removeprefix(start).partition(": ")[0] for one in problems(objects) if one.startswith(start)}
    assert named == set(changed)


def test_each_value_of_the_manifest_of_a_release_is_compared(objects: Objects) -> None:
    document = json.loads(objects[RELEASE])
    free = {"schema", "planned_at", "code_version", "prefixes", "acceptance_days"}
    shown = {name: value for name, value in document.items() if name not in free}
    numbers = {prefix: flipped(one) for prefix, one in document["numbers"].items()}
    objects[RELEASE] = json.dumps({**document, **flipped(shown), "numbers": numbers}).encode()
    named = {one.removeprefix(f"{RELEASE}: ").partition(": ")[0] for one in problems(objects)}
    assert named >= set(leaves(shown))


def test_the_days_of_a_release_are_those_of_its_documents(objects: Objects) -> None:
    document = json.loads(objects[RELEASE])
    objects[RELEASE] = json.dumps({**document, "acceptance_days": 14}).encode()
    named = [one for one in problems(objects) if "dispute_until" in one]
    assert named
    assert all(re.search(r"dispute_until: expected 20\d\d-\d\d-\d\d, found", one) for one in named)


FREE_OF_MANIFEST = {"schema", "time_zone", "cut_off", "bound", "planned_at", "code_version", "rounding"}


def test_each_value_of_the_manifest_is_compared(objects: Objects) -> None:
    document = json.loads(objects[MANIFEST])
    shown = {name: value for name, value in document.items() if name not in {*FREE_OF_MANIFEST, "base_currency"}}
    kept = {"previous": document["previous"], "report": document["report"], "previous_bound": "202611040000"}
    objects[MANIFEST] = json.dumps({**document, **flipped(shown), **kept}).encode()
    named = {one.removeprefix(f"{MANIFEST}: ").partition(": ")[0] for one in problems(objects)}
    assert named >= {leaf for leaf in leaves(shown) if not leaf.startswith(("previous.", "report."))}


# ---------------------------------------------------------------- damage


@dataclass(frozen=True)
class Damage:
    """A change of the objects, the file that must be named, and the problem, where ``…`` stands for any text."""

    do: Callable[[Objects], Any]
    key: str
    problem: str


def relines(key: str, change: Callable[[list[str]], Any], *, covered: bool = True) -> Callable[[Objects], None]:
    """Change the lines of a statement; ``covered``: make all hashes right again."""

    def do(objects: Objects) -> None:
        objects[key] = relined(objects[key], change)
        if covered:
            cover_up(objects)

    return do


def replaced(old: str, new: str, at: int) -> Callable[[list[str]], None]:
    def change(lines: list[str]) -> None:
        assert old in lines[at]
        lines[at] = lines[at].replace(old, new)

    return change


def swap(lines: list[str]) -> None:
    lines[5], lines[6] = lines[6], lines[5]


def put_last(line: str, lines: list[str]) -> None:
    lines[-1] = line


def drop_last(lines: list[str]) -> None:
    lines.pop()


def exchange(objects: Objects) -> None:
    """Exchange a line of two accounts, and make all hashes right again."""
    other = NOVEMBER + "books/GBP/lines.csv.gz"
    mine, theirs = (gzip.decompress(objects[key]).decode().splitlines(keepends=True) for key in (LINES, other))
    objects[LINES] = relined(objects[LINES], partial(put_last, theirs[-1]))
    objects[other] = relined(objects[other], partial(put_last, mine[-1]))
    cover_up(objects)


def move(objects: Objects) -> None:
    """Move a line to the next statement of its account, and make all hashes right again."""
    *_, moved = gzip.decompress(objects[LINES]).decode().splitlines(keepends=True)
    objects[LINES] = relined(objects[LINES], drop_last)
    later = DECEMBER + "42/GBP/lines.csv.gz"
    objects[later] = relined(objects[later], lambda lines: lines.insert(1, moved))
    cover_up(objects)


def change_figures(key: str = NOVEMBER, agency: str = "42", **changed: Any) -> Callable[[Objects], None]:
    """Change figures of a statement wherever they are, and make all hashes right again."""

    def do(objects: Objects) -> None:
        edit(objects, f"{key}{agency}/GBP/statement.json", lambda document: document.update(changed))
        listed = {name: value for name, value in changed.items() if name in read_rows(objects, LIST)[0]}
        edit_row(objects, LIST, agency, "GBP", **listed)
        cover_up(objects)

    return do


def without(*keys: str) -> Callable[[Objects], None]:
    def do(objects: Objects) -> None:
        for key in keys:
            del objects[key]

    return do


def put(key: str, content: bytes, *, covered: bool = False) -> Callable[[Objects], None]:
    def do(objects: Objects) -> None:
        objects[key] = content
        if covered:
            cover_up(objects, pages=False)

    return do


def twice(key: str, name: str) -> Callable[[Objects], None]:
    """Repeat a key of a document, and make all hashes right again."""

    def do(objects: Objects) -> None:
        cover_up(objects)
        repeat_a_key(objects, key, name, "1")

    return do


def rows_as(change: Callable[[list[dict[str, str]]], Any], key: str = LIST) -> Callable[[Objects], None]:
    def do(objects: Objects) -> None:
        rows = read_rows(objects, key)
        change(rows)
        write_rows(objects, key, rows)
        cover_up(objects)

    return do


def manifest_with(**changed: Any) -> Callable[[Objects], None]:
    """Change a manifest, and make the hashes of the later ones right again."""

    def do(objects: Objects) -> None:
        edit(objects, MANIFEST, lambda document: document.update(changed))
        if "previous" not in changed and "report" not in changed:
            cover_up(objects)

    return do


def without_november(objects: Objects) -> None:
    """Remove the files of a month, and let the next manifest follow the one before; nothing is released."""
    unreleased(objects)
    october = json.loads(objects["statements/2026-10/manifest.json"])
    previous = {"previous": {"period": "2026-10"}, "previous_bound": october["bound"]}
    edit(objects, DECEMBER + "manifest.json", lambda document: document.update(previous))
    for key in [key for key in objects if key.startswith(NOVEMBER)]:
        del objects[key]
    cover_up(objects)


def unsold(objects: Objects) -> None:
    """Remove a line from the ledger, and make all hashes right again."""
    key = "ledger/dt=2026-11-15/quarter=0915/lines-00.csv.gz"
    objects[key] = relined(objects[key], drop_last)
    cover_up(objects)


def repinned(objects: Objects) -> None:
    run = "reports/2026/11/15/0900-0930/manifest.json"
    edit(objects, run, lambda manifest: manifest["quarter_hours"][0]["rates"][0].update(units_per_base="0.5"))
    cover_up(objects)


HTML = NOVEMBER + "42/GBP/statement.html"
XML = NOVEMBER + "42/GBP/statement.xml"


def released_with(**changed: Any) -> Callable[[Objects], None]:
    """Change the manifest of a release, and make the hashes of the later ones right again."""

    def do(objects: Objects) -> None:
        edit(objects, RELEASE, lambda document: document.update(changed))
        cover_up(objects)

    return do


def edited(objects: Objects, key: str, change: Callable[[Any], Any]) -> None:
    """Change a document, and make all hashes right again."""
    edit(objects, key, change)
    cover_up(objects)


def documents_with(key: str, *, pages: bool = True, **changed: Any) -> Callable[[Objects], None]:
    """Change members of a document, and make all hashes right again, and the pages if ``pages``."""

    def do(objects: Objects) -> None:
        edit(objects, key, lambda document: document.update(changed))
        cover_up(objects, pages=pages)

    return do


def release_as(number: int, **changed: str) -> Callable[[Objects], None]:
    """Change cells of the only row of a release."""
    return rows_as(lambda rows: rows[0].update(changed), f"statements/releases/{number:06d}/statements.csv")


def without_cancelling(objects: Objects) -> None:
    """Remove the release that cancels a statement, and let the next one follow the one before."""
    for name in ("manifest.json", "statements.csv"):
        objects[f"statements/releases/000004/{name}"] = objects.pop(f"statements/releases/000005/{name}")
    for name in ("statement.json", "statement.html", "statement.xml"):
        objects[f"{NOVEMBER}42/GBP/2/{name}"] = objects.pop(f"{NOVEMBER}42/GBP/3/{name}")
    edit(objects, "statements/releases/000004/manifest.json", lambda document: document.update(release=4))
    release_as(4, revision="2")(objects)


def december_first(objects: Objects) -> None:
    """Exchange the lists of the releases of two months, and make all hashes right again."""
    first, second = (f"statements/releases/00000{number}/statements.csv" for number in (2, 3))
    objects[first], objects[second] = objects[second], objects[first]
    cover_up(objects)


DAMAGE = {
    "an amount": Damage(
        relines(LINES, replaced(",10.00,", ",10.01,", 5)), LINES, "line 5: shop#m1: amount: expected 10.00, found 10.01"
    ),
    "an amount, by its hash": Damage(relines(LINES, replaced("10.00", "10.01", 5), covered=False), LINES, "SHA-256: "),
    "a name": Damage(
        relines(LINES, replaced("sold twice", "sold thrice", 6)),
        LINES,
        "line 6: shop#m2: reason: expected sold twice, found sold thrice",
    ),
    "a lost line": Damage(relines(LINES, lambda lines: lines.pop(6)), LINES, "line 6: expected shop#m2, found shop#m3"),
    "the last line lost": Damage(relines(LINES, drop_last), LINES, "line 12: shop#m8 is missing"),
    "a doubled line": Damage(
        relines(LINES, lambda lines: lines.insert(6, lines[6])), LINES, "line 7: expected shop#m3, found shop#m2"
    ),
    "lines in another order": Damage(relines(LINES, swap), LINES, "line 5: expected shop#m1, found shop#m2"),
    "a line of another account": Damage(exchange, LINES, "line 12: expected shop#m8, found shop#m12"),
    "a line on the next statement": Damage(move, DECEMBER + "42/GBP/lines.csv.gz", "expected shop#l1, found shop#m8"),
    "… and not on its own": Damage(move, LINES, "line 12: shop#m8 is missing"),
    "a line that was never sealed": Damage(
        unsold, f"{NOVEMBER}books/GBP/lines.csv.gz", "line 3: shop#m12 is not of this statement"
    ),
    "an exchange rate": Damage(repinned, DRAFT, "sums.base[0]: expected"),
    "no gzip file": Damage(put(LINES, b"gone"), LINES, "cannot be read"),
    "other columns": Damage(relines(LINES, replaced("amount", "amounts", 0)), LINES, "cannot be read"),
    "no number": Damage(relines(LINES, replaced(",10.00,", ",1O.00,", 5)), LINES, "cannot be read"),
    "rounding": Damage(
        change_figures(commission="2.26", payable="2.70", closing="154.19"),
        JSON,
        "commission: expected 2.27, found 2.26",
    ),
    "tax": Damage(change_figures(tax="0.44", payable="2.71", closing="154.20"), JSON, "tax: expected 0.45, found 0.44"),
    "a balance": Damage(
        change_figures(opening="250.00", closing="152.71"), JSON, "opening: expected 251.49, found 250.00"
    ),
    "a gap": Damage(change_figures(number="S-000009"), JSON, "number: expected S-000002, found S-000009"),
    "a closing balance": Damage(change_figures(closing="0.00"), JSON, "closing: expected 154.21, found 0.00"),
    "no credit note": Damage(
        lambda objects: edit(objects, f"{NOVEMBER}%C3%BCn%C3%AF%207%2F../GBP/statement.json", as_statement),
        f"{NOVEMBER}%C3%BCn%C3%AF%207%2F../GBP/statement.json",
        "document: expected credit_note, found statement",
    ),
    "another scheme": Damage(
        lambda objects: edit(objects, JSON, lambda document: document["taxes"][0].update(scheme="none")),
        JSON,
        "taxes[0].scheme: expected standard or reverse_charge or exempt or outside_scope, found none",
    ),
    "another collector": Damage(
        lambda objects: edit(objects, JSON, lambda document: document["collected"][0].update(by="marketplace")),
        JSON,
        "proceeds: expected",
    ),
    "nobody who collects": Damage(change_figures(collected=[]), JSON, "collected: no row has the tax point"),
    "another net collected": Damage(
        lambda objects: edit(objects, JSON, lambda document: document["collected"][0].update(net="1")),
        JSON,
        "collected[0].net: expected",
    ),
    "an unknown collector": Damage(
        change_figures(collects="bank"), JSON, "collects: expected agency or marketplace, found bank"
    ),
    "tax in another currency": Damage(
        lambda objects: edit(objects, JSON, lambda document: document["tax_in"].update(tax="0.50")),
        JSON,
        "tax_in.tax: expected 0.51, found 0.50",
    ),
    "no tax in another currency": Damage(
        lambda objects: edit(objects, JSON, lambda document: document.update(tax_in=None)),
        JSON,
        "tax_in: expected {'currency': 'EUR', 'exchange_rate': '0.88'",
    ),
    "tax in the currency of the statement": Damage(
        lambda objects: edit(objects, f"{NOVEMBER}7/EUR/statement.json", lambda document: document.update(tax_in={})),
        f"{NOVEMBER}7/EUR/statement.json",
        "tax_in: expected null, found {}",
    ),
    "an unknown rounding": Damage(
        documents_with(JSON, pages=False, rounding="up"), JSON, "rounding: expected half-even, found up"
    ),
    "a tax point of a kind": Damage(
        lambda objects: edit(
            objects, JSON, lambda document: document["taxes"][0]["tax_points"][0].update(kind="chargeback_fee")
        ),
        JSON,
        "taxes: no row has the tax point 2026-10-30",
    ),
    "a tax point without a tax": Damage(
        lambda objects: edit(
            objects, JSON, lambda document: document["taxes"][0]["tax_points"][0].update(to="2026-11-14")
        ),
        JSON,
        "taxes: no row has the tax point 2026-11-15",
    ),
    "a tax point too many": Damage(
        lambda objects: edit(
            objects, JSON, lambda document: document["taxes"][0]["tax_points"][0].update(to="2026-11-16")
        ),
        JSON,
        "taxes[0].tax_points[0].to: expected 2026-11-15, found 2026-11-16",
    ),
    "the note of a tax": Damage(
        lambda objects: edited(objects, JSON, lambda one: one["taxes"][0].update(note="VAT 9 %")),
        JSON,
        "taxes[0].note: expected VAT 19.5 %, found VAT 9 %",
    ),
    "an unknown member of the customer": Damage(
        lambda objects: edited(objects, JSON, lambda one: one["customer"].update(discount="5")),
        JSON,
        "customer.discount: is unknown",
    ),
    "… of the owner": Damage(
        lambda objects: edited(objects, JSON, lambda one: one["owner"].update(discount="5")),
        JSON,
        "owner.discount: is unknown",
    ),
    "… of a tax": Damage(
        lambda objects: edited(objects, JSON, lambda one: one["taxes"][0].update(more="5")),
        JSON,
        "taxes[0].more: is unknown",
    ),
    "… of a release": Damage(released_with(more="1"), RELEASE, "more: is unknown"),
    "… of the prefixes of a release": Damage(
        lambda objects: edited(objects, RELEASE, lambda one: one["prefixes"].update(more="D-")),
        RELEASE,
        "prefixes.more: is unknown",
    ),
    "a member of the customer that is missing": Damage(
        lambda objects: edited(objects, JSON, lambda one: one["customer"].pop("group")),
        JSON,
        "customer.group: is missing",
    ),
    "another language": Damage(
        documents_with(JSON, pages=False, language="de"), HTML, "is not the page of statement.json"
    ),
    "… of the cancellation": Damage(
        documents_with(CANCELLED, language="de"), CANCELLED, "language: expected en, found de"
    ),
    "an unknown language": Damage(
        documents_with(JSON, pages=False, language="tlh"), JSON, "language: expected … or nl, found tlh"
    ),
    "an unknown member": Damage(change_figures(more="1"), JSON, "more: is unknown"),
    "a page": Damage(put(HTML, b"<html>", covered=True), HTML, "is not the page of statement.json"),
    "a page, by its hash": Damage(put(HTML, b"<html>"), HTML, "SHA-256: "),
    "no JSON": Damage(put(JSON, b"{"), JSON, "cannot be read"),
    "a key twice": Damage(twice(JSON, "closing"), JSON, "the key 'closing' appears twice in one object"),
    "a key twice in a manifest": Damage(twice(MANIFEST, "bound"), MANIFEST, "the key 'bound' appears twice in one"),
    "a statement that is a list": Damage(put(JSON, b"[]"), JSON, "cannot be read"),
    **{
        f"no {key}": Damage(without(key), key, "is missing")
        for key in (JSON, HTML, LINES, DRAFT, LIST, DRAFTS, MANIFEST, RELEASE)
    },
    "no draft": Damage(rows_as(lambda rows: rows.pop(1), DRAFTS), DRAFTS, "has no draft of 42#JPY, which has 1 sealed"),
    "… its file": Damage(rows_as(lambda rows: rows.pop(1), DRAFTS), f"{NOVEMBER}42/JPY/draft.json", "is in no list"),
    "… its statement": Damage(rows_as(lambda rows: rows.pop(1), DRAFTS), LIST, "line 3: 42#JPY: 2026-11 has no draft"),
    "a draft twice": Damage(
        rows_as(lambda rows: rows.insert(1, rows[0]), DRAFTS), DRAFTS, "line 3: 42#GBP is not after 42#GBP"
    ),
    "drafts in another order": Damage(rows_as(list.reverse, DRAFTS), DRAFTS, "is not after"),
    "a document that is not listed": Damage(
        rows_as(lambda rows: rows.pop(1)), f"{NOVEMBER}42/JPY/statement.json", "is in no list"
    ),
    "… the next number": Damage(rows_as(lambda rows: rows.pop(1)), LIST, "number: expected S-000003, found S-000004"),
    "a document twice": Damage(
        rows_as(lambda rows: rows.insert(1, rows[0])), LIST, "line 3: 42#GBP: revision: expected 2, found 1"
    ),
    "… its lines": Damage(
        rows_as(lambda rows: rows.insert(1, rows[0])), LIST, "S-000002 states the same lines, and is not cancelled"
    ),
    "documents in another order": Damage(rows_as(list.reverse), LIST, "number: expected"),
    "another series": Damage(
        rows_as(lambda rows: rows[5].update(number="S-000007")), LIST, "number: expected C-000002, found S-000007"
    ),
    "… of all its numbers": Damage(
        released_with(prefixes={"statements": "T-", "credit_notes": "C-"}),
        LIST,
        "line 2: 42#GBP: number: expected T-000001, found S-000002",
    ),
    "accounts in another order": Damage(rows_as(list.reverse), LIST, "line 3: … is not after the documents before"),
    "a release that is planned too early": Damage(
        released_with(planned_at="2026-12-04T00:20:00.000Z"),
        LIST,
        "was released at 2026-12-04T00:20:00.000Z, while lines were recorded until 2026-12-04T00:30:00Z",
    ),
    "… before the one before": Damage(
        lambda objects: edit(objects, RELEASE_5, lambda one: one.update(planned_at="2027-01-06T08:00:00.000Z")),
        RELEASE_5,
        "planned_at: 2027-01-06T08:00:00.000Z is before the previous release",
    ),
    "a release of an unknown schema": Damage(released_with(schema=9), RELEASE, "the schema 9 is unknown: use the vers"),
    "an XML": Damage(put(XML, b"<xml>", covered=True), XML, "is not the XML of statement.json"),
    "an XML, by its hash": Damage(put(XML, b"<xml>"), XML, "SHA-256: "),
    "no XML": Damage(without(XML), XML, "is missing"),
    "a series from elsewhere": Damage(
        released_with(numbers={"S-": {"first": 3, "next": 8}, "C-": {"first": 2, "next": 3}}),
        RELEASE,
        "numbers.S-.first: expected 2, found 3",
    ),
    "a series that is left out": Damage(
        rows_as(lambda rows: rows.pop(), "statements/releases/000003/statements.csv"),
        "statements/releases/000003/manifest.json",
        "numbers.S-.next: expected 7, found 8",
    ),
    "the date of issue": Damage(
        documents_with(JSON, issued_on="2026-12-05"), JSON, "issued_on: expected 2026-12-04, found 2026-12-05"
    ),
    "the rounding": Damage(manifest_with(rounding="half-up"), JSON, "rounding: expected half-up, found half-even"),
    "no tax profile": Damage(
        lambda objects: edit(objects, JSON, lambda document: document["taxes"][0].update(scheme=None, percent="0")),
        JSON,
        "taxes[0].scheme: expected standard or reverse_charge or exempt or outside_scope, found null",
    ),
    "a month that is released too early": Damage(december_first, LIST, "the draft of 2026-11 comes first"),
    "a cancellation of another statement": Damage(
        release_as(4, cancels="S-000003"),
        "statements/releases/000004/statements.csv",
        "cancels: expected S-000002, found S-000003",
    ),
    "… in the document": Damage(
        documents_with(CANCELLED, cancels={"number": "S-000003", "document": "statement", "issued_on": "2026-12-04"}),
        CANCELLED,
        "cancels.number: expected S-000002, found S-000003",
    ),
    "a cancellation in part": Damage(
        documents_with(CANCELLED, commission="-2.00"), CANCELLED, "commission: expected -2.27, found -2.00"
    ),
    "a cancellation for somebody else": Damage(
        lambda objects: edit(objects, CANCELLED, lambda document: document["customer"].update(legal_name="Else")),
        CANCELLED,
        "customer.legal_name: expected Agency 42, found Else",
    ),
    "a cancellation at another tax": Damage(
        lambda objects: edit(objects, CANCELLED, lambda document: document["taxes"][0].update(percent="19.4")),
        CANCELLED,
        "taxes[0].percent: expected 19.5, found 19.4",
    ),
    "a cancellation in the other direction": Damage(
        documents_with(CANCELLED, collects="marketplace"), CANCELLED, "collects: expected agency, found marketplace"
    ),
    "a cancellation of another day": Damage(
        documents_with(CANCELLED, cancels={"number": "S-000002", "document": "statement", "issued_on": "2026-12-05"}),
        CANCELLED,
        "cancels.issued_on: expected 2026-12-04, found 2026-12-05",
    ),
    "a cancellation that is a statement": Damage(
        documents_with(CANCELLED, document="statement"), CANCELLED, "document: expected credit_note, found statement"
    ),
    "a statement that replaces another": Damage(
        documents_with(REPLACED, replaces="S-000003"), REPLACED, "replaces: expected S-000002, found S-000003"
    ),
    "a balance that leaves out a cancellation": Damage(
        documents_with(REPLACED, opening="405.40", closing="308.11"), REPLACED, "opening: expected 152.68"
    ),
    "no cancellation between two statements": Damage(
        without_cancelling, "statements/releases/000004/statements.csv", "S-000002 states the same lines"
    ),
    "no release between two": Damage(
        without("statements/releases/000003/manifest.json", "statements/releases/000003/statements.csv"),
        "statements/releases/000003/manifest.json",
        "is missing",
    ),
    "the chain of releases": Damage(
        lambda objects: edit(
            objects, RELEASE, lambda document: document.update(previous={"release": 1, "sha256": "0" * 64})
        ),
        RELEASE,
        "previous.sha256: expected …, found 0000",
    ),
    "a file of a release": Damage(
        put("statements/releases/000002/extra", b""), "statements/releases/000002/extra", "is in no list"
    ),
    "a list with other columns": Damage(put(LIST, b"agency\n"), LIST, "cannot be read"),
    "a file too many": Damage(put(NOVEMBER + "42/GBP/extra", b""), NOVEMBER + "42/GBP/extra", "is in no list"),
    "a file of a period": Damage(put(NOVEMBER + "extra", b""), NOVEMBER + "extra", "is in no list"),
    "a file of no period": Damage(put("statements/extra", b""), "statements/extra", "is in no list"),
    "files of an earlier period": Damage(
        put("statements/2026-09/x", b""),
        "statements/2026-09/manifest.json",
        "is missing, so 1 files of 2026-09 are in no",
    ),
    "no manifest before": Damage(
        lambda objects: edit(objects, MANIFEST, lambda document: document.update(previous=None)),
        MANIFEST,
        "previous: expected {…}, found null",
    ),
    "the chain": Damage(
        manifest_with(previous={"period": "2026-10", "sha256": "0" * 64}),
        MANIFEST,
        "previous.sha256: expected …, found 0000",
    ),
    "the report": Damage(
        manifest_with(report={"run": "2026-12-04T0000-0030", "sha256": "0" * 64}),
        MANIFEST,
        "report.sha256: expected …, found 0000",
    ),
    "a report that is not there": Damage(
        manifest_with(report={"run": "2026-12-03T0000-0030", "sha256": "0" * 64}),
        "reports/2026/12/03/0000-0030/manifest.json",
        "is missing",
    ),
    "another report": Damage(
        manifest_with(report={"run": "2026-11-15T0900-0930", "sha256": "0" * 64}), MANIFEST, "report.run: "
    ),
    "the bound": Damage(manifest_with(bound="202612030000"), MANIFEST, "bound: 202612030000 ends before the cut-off"),
    "no order of bounds": Damage(
        manifest_with(previous_bound="202612040030"), MANIFEST, "is before that of the previous period"
    ),
    "the cut-off": Damage(
        manifest_with(cut_off="2026-11-30T00:00:00Z"), MANIFEST, "cut_off: 2026-11-30T00:00:00Z is bef"
    ),
    "the first period": Damage(
        manifest_with(first_period="2026-12"), MANIFEST, "first_period: expected 2026-10, found 2026-12"
    ),
    "a month that is left out": Damage(
        without_november, DECEMBER + "manifest.json", "previous.period: expected 2026-11, found 2026-10"
    ),
    "the time zone": Damage(
        manifest_with(time_zone="Europe/Paris"),
        MANIFEST,
        "from: expected 2026-10-31T23:00:00Z, found 2026-11-01T00:00:00Z",
    ),
    "no time zone": Damage(manifest_with(time_zone="Mars"), MANIFEST, "cannot be read"),
    "an unknown schema": Damage(
        manifest_with(schema=9), MANIFEST, "the schema 9 is unknown: use the version that wrote it"
    ),
}


def as_statement(document: dict[str, Any]) -> None:
    document["document"] = "statement"


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_named(objects: Objects, name: str) -> None:
    damage = DAMAGE[name]
    damage.do(objects)
    found = found_in(objects)
    parts = damage.problem.split("…")
    named = [one for one in found.problems if one.startswith(f"{damage.key}: ")]
    assert any(all(part in one for part in parts) for one in named), found.problems
    assert not found.proven


@given(st.data())
def test_a_change_of_any_byte_is_found_except_in_the_last_manifests(data: st.DataObject) -> None:
    objects = dict(sealed())
    # What a manifest alone says, such as the version of the code, is proven by the hash in the next one.
    last = {DECEMBER + "manifest.json", "statements/releases/000005/manifest.json"}
    keys = sorted(key for key in objects if key.startswith("statements/") and key not in last)
    key = data.draw(st.sampled_from(keys))
    content = bytearray(objects[key])
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    objects[key] = bytes(content)
    assert problems(objects)


@given(st.data())
def test_the_removal_of_any_file_is_found(data: st.DataObject) -> None:
    objects = dict(sealed())
    keys = sorted(key for key in objects if key.startswith("statements/"))
    key = data.draw(st.sampled_from(keys))
    del objects[key]
    assert any(one.startswith(f"{key}: is missing") for one in problems(objects))


def unlisted(objects: Objects) -> list[str]:
    """Remove the list of the drafts of the last month, and return the keys of their files; nothing is released."""
    unreleased(objects)
    del objects[f"{DECEMBER}drafts.csv"]
    return [key for key in objects if key.startswith(DECEMBER) and key != f"{DECEMBER}manifest.json"]


def test_without_the_list_each_lost_file_of_its_drafts_is_named_too(objects: Objects) -> None:
    lost = unlisted(objects)
    assert {one.split("/")[2] for one in lost} == {"42", "9"}
    for key in lost:
        del objects[key]
    assert {one for one in problems(objects) if DECEMBER in one} >= {f"{key}: is missing" for key in lost}


def test_without_the_list_no_file_of_a_draft_that_is_there_is_missing(objects: Objects) -> None:
    unlisted(objects)
    assert [one for one in problems(objects) if "is missing" in one] == [f"{DECEMBER}drafts.csv: is missing"]


NONSENSE: list[Any] = [None, [], {}, "", "x", -1, 10**40, 1.5, True, "NaN", "1e999999999", "2026-13", "\ud800", [[[]]]]


@given(st.data())
def test_nonsense_in_a_file_is_a_problem_and_no_error(data: st.DataObject) -> None:
    objects = dict(sealed())
    key = data.draw(st.sampled_from([JSON, MANIFEST, DRAFT, RELEASE, CANCELLED, NOVEMBER + "7/EUR/statement.json"]))
    document = json.loads(objects[key])
    name = data.draw(st.sampled_from(sorted(document)))
    inner = document[name]
    if isinstance(inner, dict) and inner and data.draw(st.booleans()):
        inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(st.sampled_from(NONSENSE))
    else:
        document[name] = data.draw(st.sampled_from(NONSENSE))
    objects[key] = json.dumps(document).encode()
    assert problems(objects)
