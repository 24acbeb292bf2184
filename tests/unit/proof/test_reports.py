"""Verification of sealed files: untouched ones are proven, and every tampering is found."""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from errno import ENOENT
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.identifiers import Account, Identity, Position
from quarterhour.model.totals import Totals
from quarterhour.proof.reports import ReportVerification, verify
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.reports.base_currency import Pins
from quarterhour.reports.digests import hexdigest
from tests.support.builders import utc
from tests.support.cases import cases
from tests.support.sealing import Objects, cover_up, edit, line, opening, relined, repeat_a_key, seal

LINES = "ledger/dt=2026-10-23/quarter={}/lines.csv.gz"
FIRST, MIDDLE, LAST = (
    f"reports/2026/10/23/{bounds}/manifest.json" for bounds in ("0130-0200", "0200-0230", "0230-0245")
)
LAST_PAGE = "reports/2026/10/23/0230-0245/report.html"
SUMMARY, PRODUCTS, PAGE = (
    f"reports/2026/10/23/0200-0230/{name}" for name in ("summary.csv", "products.csv", "report.html")
)


def reports() -> Objects:
    """Return three runs: the first with an empty quarter-hour, the second with a refund and two accounts."""
    objects: Objects = {}
    run = seal(
        objects,
        "202610230130",
        "202610230145",
        [line(utc("01:30:01"), "a"), line(utc("01:44:59.999"), "b", "0.005"), line(utc("01:31"), "c", "7", "7#EUR")],
        ("", ""),
    )
    run = seal(
        objects,
        "202610230200",
        "202610230215",
        [line(utc("02:00"), "d"), line(utc("02:00"), "e", "-12.50"), line(utc("02:15"), "f", "3", "7#EUR")],
        run,
    )
    seal(objects, "202610230230", "202610230230", [line(utc("02:40"), "g", "1")], run)
    return objects


def check(objects: Objects, retention: timedelta | None = None) -> ReportVerification:
    return verify(opening(objects), objects, retention)


def test_untouched_reports_are_proven_with_their_totals() -> None:
    found = check(reports())
    assert found.problems == []
    assert found.proven
    assert (found.runs, found.quarter_hours, found.lines) == (3, 5, 7)
    assert found.accounts == {
        Account("42", "GBP"): Totals(5, Decimal("26.005"), Decimal("-12.50"), Decimal("1.3505")),
        Account("7", "EUR"): Totals(2, Decimal(10), Decimal(0), Decimal(1)),
    }


def test_payments_are_proven_as_totals_of_their_own() -> None:
    objects: Objects = {}
    paid = line(utc("01:31"), "p", "100.00", type="payment.recorded", commission_rate="0", commission="0.00")
    seal(objects, "202610230130", "202610230130", [line(utc("01:30"), "a", "5"), paid], ("", ""))
    found = check(objects)
    assert found.problems == []
    assert found.accounts == {Account("42", "GBP"): Totals(2, Decimal(5), Decimal(0), Decimal("0.5"), Decimal(100))}
    edit(objects, "reports/2026/10/23/0130-0145/manifest.json", as_a_sale)
    assert any("accounts: " in problem for problem in check(objects).problems)


def as_a_sale(manifest: dict[str, Any]) -> None:
    """Count the payment of an account with its sales."""
    manifest["accounts"][0].update(gross="105.00", payments="0")


def test_without_sealed_files_nothing_is_proven_and_there_is_no_problem() -> None:
    assert check({}) == ReportVerification()
    assert not check({}).proven


def test_a_file_that_no_manifest_names_is_a_problem() -> None:
    objects = reports()
    stray = min(key for key in objects if key.startswith("reports/")).rpartition("/")[0] + "/extra.csv"
    assert f"{stray}: is in no manifest" in check({**objects, stray: b""}).problems


def test_lines_after_the_last_manifest_belong_to_a_run_under_way() -> None:
    objects = reports()
    objects[LINES.format("0245")] = objects[LINES.format("0230")]
    objects["reports/2026/10/23/0245-0300/summary.csv"] = b""
    assert check(objects).proven


@pytest.mark.parametrize("schema", [0, 2, None])
def test_a_manifest_of_another_schema_is_named(schema: int | None) -> None:
    objects = reports()
    edit(objects, LAST, lambda manifest: manifest.update(schema=schema))
    assert any(one.startswith(f"{LAST}: cannot be read: UnknownSchemaError") for one in check(objects).problems)


# ---------------------------------------------------------------- in a base currency

PINS: Mapping[str, Pins] = {
    "202610230200": {"GBP": ExchangeRate(Decimal("0.8"), "ECB", "EUR", utc("01:00"))},
    "202610230215": {"GBP": None},
}
BASE = "reports/2026/10/23/0200-0230/"


def in_euros() -> Objects:
    """Return a run in pounds alone, and after it one with totals in euros, too."""
    objects: Objects = {}
    run = seal(objects, "202610230130", "202610230145", [line(utc("01:30"), "a")], ("", ""))
    sold = [line(utc("02:00"), "b", "8"), line(utc("02:01"), "c", "1", "7#EUR"), line(utc("02:16"), "d", "1", "7#GBP")]
    seal(objects, "202610230200", "202610230215", sold, run, base="EUR", pins=PINS)
    return objects


def rates_of(objects: Objects, quarter_hour: int, change: Callable[[list[Any]], None]) -> Objects:
    """Change the rates that a quarter-hour of the second run pins, and make all hashes right again."""
    edit(objects, f"{BASE}manifest.json", lambda manifest: change(manifest["quarter_hours"][quarter_hour]["rates"]))
    cover_up(objects)
    return objects


def test_totals_in_the_base_currency_are_proven_from_the_pinned_exchange_rates() -> None:
    objects = in_euros()
    assert check(objects).problems == []
    assert objects[f"{BASE}summary.csv"].decode().splitlines()[1:] == [
        "42,GBP,2026-10,1,8,0,8,0.8,0.80,0,,EUR,10.00,0.00,10.00,1.00,0.00,",
        "7,EUR,2026-10,1,1,0,1,0.1,0.10,0,,EUR,1.00,0.00,1.00,0.10,0.00,",
        "7,GBP,2026-10,1,1,0,1,0.1,0.10,0,,EUR,,,,,,no rate of GBP at the end of 202610230215",
    ]


@pytest.mark.parametrize(
    ("quarter_hour", "change", "problem_text"),
    [
        (0, lambda rates: rates[0].update(units_per_base="0.9"), "summary.csv: sums"),
        (1, lambda rates: rates[0].update(units_per_base="0.9", source="me", as_of="2026-10-23T02:00:00Z"), "sums"),
        (0, lambda rates: rates.clear(), "currencies of the rates of 202610230200"),
        (0, lambda rates: rates.append(rates[0]), "currencies of the rates of 202610230200"),
        (0, lambda rates: rates[0].update(currency="USD"), "currencies of the rates of 202610230200"),
        (0, lambda rates: rates[0].update(as_of="2026-10-23T02:15:00.000Z"), "was not in force at its end"),
        (0, lambda rates: rates[0].update(units_per_base="-0.8"), "was not in force at its end"),
        (0, lambda rates: rates[0].update(units_per_base="0"), "cannot be read"),
        (0, lambda rates: rates[0].update(units_per_base="much"), "cannot be read"),
    ],
)
def test_a_changed_exchange_rate_is_found(
    quarter_hour: int, change: Callable[[list[Any]], None], problem_text: str
) -> None:
    problems = check(rates_of(in_euros(), quarter_hour, change)).problems
    assert any(problem_text in problem for problem in problems), problems


def test_a_changed_total_in_the_base_currency_is_found() -> None:
    objects = in_euros()
    objects[f"{BASE}summary.csv"] = objects[f"{BASE}summary.csv"].replace(b"EUR,10.00", b"EUR,10.01")
    cover_up(objects)
    assert f"{BASE}summary.csv: sums" in check(objects).problems[0]


@pytest.mark.parametrize(
    ("changed", "problem_text"),
    [
        ({"commission": "1.26"}, "shop#a pays another commission than its terms give"),
        ({"arithmetic": "percent=20 of=12.50"}, "shop#a pays another commission than its terms give"),
        ({"arithmetic": "percent=20"}, "is no arithmetic of a commission"),
        ({"arithmetic": "percent=8 of=12.50 fixed=0.25 items=1", "commission_rate": "0.08"}, ""),
    ],
)
def test_a_commission_must_agree_with_its_terms(changed: dict[str, str], problem_text: str) -> None:
    objects: Objects = {}
    seal(objects, "202610230130", "202610230130", [line(utc("01:30"), "a", **changed)], ("", ""))
    problems = check(objects).problems
    if problem_text:
        assert problem_text in problems[0]
    else:
        assert problems == []


# ---------------------------------------------------------------- tampering


@dataclass(frozen=True)
class Tampering:
    """A change of the objects, and the problem that must be found."""

    do: Callable[[Objects], Any]
    key: str
    problem_text: str


def put(key: str, content: bytes) -> Callable[[Objects], None]:
    return lambda objects: objects.update({key: content})


def remove(*keys: str) -> Callable[[Objects], None]:
    def do(objects: Objects) -> None:
        for key in keys:
            del objects[key]

    return do


def removed_and_covered_up(key: str) -> Callable[[Objects], None]:
    def do(objects: Objects) -> None:
        del objects[key]
        cover_up(objects)

    return do


def document(key: str, change: Callable[[Any], Any], *, covered_up: bool = True) -> Callable[[Objects], None]:
    def do(objects: Objects) -> None:
        edit(objects, key, change)
        if covered_up:
            cover_up(objects)

    return do


def text(key: str, change: Callable[[list[str]], Any]) -> Callable[[Objects], None]:
    """Change the lines of a file, and cover it up."""

    def do(objects: Objects) -> None:
        objects[key] = relined(objects[key], change)
        cover_up(objects)

    return do


def content(key: str, change: Callable[[bytes], bytes]) -> Callable[[Objects], None]:
    """Change a file and cover it up."""

    def do(objects: Objects) -> None:
        objects[key] = change(objects[key])
        cover_up(objects)

    return do


def page_changed(objects: Objects) -> None:
    """Change a figure on the page of the last run, and make its hash right again."""
    objects[LAST_PAGE] = objects[LAST_PAGE].replace(b">0.1<", b">0.2<")
    sealed = {"sha256": hexdigest(objects[LAST_PAGE]), "size": len(objects[LAST_PAGE])}
    edit(objects, LAST, lambda manifest: manifest["files"][1].update(sealed))


def flip(key: str) -> Callable[[Objects], None]:
    def do(objects: Objects) -> None:
        middle = len(objects[key]) // 2
        objects[key] = objects[key][:middle] + bytes([objects[key][middle] ^ 1]) + objects[key][middle + 1 :]

    return do


def swap(one: str, other: str) -> Callable[[Objects], None]:
    return lambda objects: objects.update({one: objects[other], other: objects[one]})


def replaced(old: str, new: str) -> Callable[[list[str]], None]:
    def change(lines: list[str]) -> None:
        assert any(old in one for one in lines)
        lines[1:] = [one.replace(old, new) for one in lines[1:]]

    return change


def turned(lines: list[str]) -> None:
    lines[1:] = reversed(lines[1:])


def account(figure: str, value: object) -> Callable[[Any], None]:
    return lambda manifest: manifest["accounts"][0].update({figure: value})


def quarter_hour(**changed: object) -> Callable[[Any], None]:
    return lambda manifest: manifest["quarter_hours"][0].update(changed)


def sealed_twice(objects: Objects) -> None:
    """Seal the first event once more in a run that follows, with nothing else wrong."""
    last = "2026-10-23T0230-0245", hexdigest(objects[LAST])
    seal(objects, "202610230245", "202610230245", [line(utc("02:50"), "a")], last)


def sealed_twice_elsewhere(objects: Objects) -> None:
    """Seal the first event once more, at a position that another identity would have."""
    last = "2026-10-23T0230-0245", hexdigest(objects[LAST])
    at = utc("02:50")
    other = line(at, "a", position=str(Position.of(Identity("shop", "other").hash, at).at(0)))
    seal(objects, "202610230245", "202610230245", [other], last)


LINES_0130, LINES_0200, LINES_0230 = (LINES.format(quarter_hour) for quarter_hour in ("0130", "0200", "0230"))
TAMPERINGS = {
    # files, not covered up
    "a byte of a lines file changed": Tampering(flip(LINES_0200), LINES_0200, "SHA-256: "),
    "a lines file cut": Tampering(lambda o: o.update({LINES_0200: o[LINES_0200][:-1]}), LINES_0200, "size: "),
    "a lines file removed": Tampering(remove(LINES_0200), LINES_0200, "is missing"),
    "two lines files swapped": Tampering(swap(LINES_0130, LINES_0200), LINES_0130, "SHA-256: "),
    "a summary removed": Tampering(remove(SUMMARY), SUMMARY, "is missing"),
    "a byte of a summary changed": Tampering(flip(SUMMARY), SUMMARY, "SHA-256: "),
    "the products removed": Tampering(remove(PRODUCTS), PRODUCTS, "is missing"),
    "a page removed": Tampering(remove(PAGE), PAGE, "is missing"),
    "a byte of a page changed": Tampering(flip(PAGE), PAGE, "SHA-256: "),
    "a sum changed in a manifest": Tampering(
        document(MIDDLE, account("gross", "12.51"), covered_up=False), MIDDLE, "accounts: "
    ),
    "a manifest changed that others follow": Tampering(
        document(MIDDLE, lambda m: m.update(code_version="2.0"), covered_up=False), LAST, "previous: "
    ),
    "a manifest removed from the middle": Tampering(remove(MIDDLE), LAST, "previous: "),
    "the first manifest removed": Tampering(remove(FIRST), MIDDLE, "previous: "),
    "two manifests swapped": Tampering(swap(FIRST, MIDDLE), FIRST, "previous: "),
    "a lines file slipped in": Tampering(
        lambda o: o.update({LINES.format("0145"): o[LINES_0130]}), LINES.format("0145"), "is in no manifest"
    ),
    "lines from before the first run slipped in": Tampering(
        lambda o: o.update({LINES.format("0115"): o[LINES_0130]}), LINES.format("0115"), "is in no manifest"
    ),
    "another object put among the lines": Tampering(
        put("ledger/dt=2026-10-23/notes.txt", b""), "ledger/dt=2026-10-23/notes.txt", "is in no manifest"
    ),
    "a manifest with a key twice": Tampering(
        lambda objects: repeat_a_key(objects, MIDDLE, "lines", "1"), MIDDLE, "the key 'lines' appears twice in one"
    ),
    "a manifest that is not JSON": Tampering(put(MIDDLE, b"{"), MIDDLE, "cannot be read: "),
    "a manifest that is a list": Tampering(put(MIDDLE, b"[]"), MIDDLE, "cannot be read: "),
    "a manifest that is not text": Tampering(put(MIDDLE, b"\xff\xfe\xff"), MIDDLE, "cannot be read: "),
    # manifests, covered up
    "a manifest taken out, the chain repaired": Tampering(
        removed_and_covered_up(MIDDLE), LAST, "from: expected 2026-10-23T02:00:00Z, found 2026-10-23T02:30:00Z"
    ),
    "its lines are found then": Tampering(removed_and_covered_up(MIDDLE), LINES_0200, "is in no manifest"),
    "a manifest without its accounts": Tampering(document(LAST, lambda m: m.pop("accounts")), LAST, "cannot be read: "),
    "a sum that is not a number": Tampering(document(LAST, account("gross", "one")), LAST, "cannot be read: "),
    "a count that is not a number": Tampering(
        document(LAST, lambda m: m.update(lines="1")), LAST, "lines: expected 1, found 1"
    ),
    "a sum changed": Tampering(document(MIDDLE, account("commission", "0.01")), MIDDLE, "accounts: "),
    "an account left out": Tampering(document(MIDDLE, lambda m: m["accounts"].pop()), MIDDLE, "accounts: "),
    "the number of lines changed": Tampering(
        document(MIDDLE, lambda m: m.update(lines=4)), MIDDLE, "lines: expected 3, found 4"
    ),
    "a quarter-hour's number of lines changed": Tampering(
        document(MIDDLE, quarter_hour(lines=1)), MIDDLE, "lines of 202610230200: expected 2, found 1"
    ),
    "a quarter-hour's lines hidden": Tampering(
        document(MIDDLE, quarter_hour(files=[])), MIDDLE, "lines of 202610230200: expected 0, found 2"
    ),
    "the last quarter-hour's lines hidden": Tampering(
        document(LAST, quarter_hour(files=[], lines=0)), LINES_0230, "is in no manifest"
    ),
    "a quarter-hour left out": Tampering(
        document(MIDDLE, lambda m: m["quarter_hours"].pop()),
        MIDDLE,
        "quarter_hours: expected ['202610230200', '202610230215'], found ['202610230200']",
    ),
    "a quarter-hour pointed to another file": Tampering(
        document(MIDDLE, lambda m: m["quarter_hours"][0]["files"][0].update(key=LINES_0230)),
        MIDDLE,
        f"files of 202610230200: expected [], found ['{LINES_0230}'",
    ),
    "fewer shards covered than there are": Tampering(
        document(MIDDLE, quarter_hour(shards=0)), LINES_0200, "shards beyond those covered: expected [], found [0]"
    ),
    "bounds changed": Tampering(
        document(LAST, lambda m: m.update(to="2026-10-23T03:00:00Z")),
        LAST,
        "quarter_hours: expected ['202610230230', '202610230245'], found ['202610230230']",
    ),
    "another run's name": Tampering(
        document(LAST, lambda m: m.update(run="2026-10-23T0230-0300")),
        LAST,
        "run: expected 2026-10-23T0230-0245, found 2026-10-23T0230-0300",
    ),
    "a manifest moved to another run's place": Tampering(
        lambda o: o.update({LAST.replace("0245", "0300"): o.pop(LAST)}),
        LAST.replace("0245", "0300"),
        "place: expected reports/2026/10/23/0230-0245/manifest.json, found reports/2026/10/23/0230-0300/manifest.json",
    ),
    "a page changed": Tampering(page_changed, LAST_PAGE, "page: "),
    "a page not named": Tampering(
        document(MIDDLE, lambda m: m["files"].pop()),
        MIDDLE,
        f"files: expected {[SUMMARY, PRODUCTS, PAGE]}"[:60],
    ),
    "a summary not named": Tampering(
        document(MIDDLE, lambda m: m.update(files=[])), MIDDLE, f"files: expected {[SUMMARY, PRODUCTS, PAGE]}"[:60]
    ),
    "a schema of the future": Tampering(document(LAST, lambda m: m.update(schema=6)), LAST, "the schema 6 is unknown"),
    "the totals of a period changed": Tampering(
        document(LAST, lambda m: m["accounts"][0]["periods"]["2026-10"].update(events=9)), LAST, "periods: "
    ),
    "the totals of a period missing": Tampering(
        document(LAST, lambda m: m["accounts"][0].update(periods={})), LAST, "periods: "
    ),
    # files, covered up
    "a period changed": Tampering(text(LINES_0200, replaced(",2026-10,", ",2026-09,")), MIDDLE, "periods: "),
    "a period that is no month": Tampering(
        text(LINES_0200, replaced(",2026-10,", ",2026-10x,")), LINES_0200, "is not a month"
    ),
    "a flag of a prior period that is none": Tampering(
        text(LINES_0200, replaced(",2026-10,", ",2026-10,yes")), LINES_0200, "has the flag of a prior period 'yes'"
    ),
    "an amount changed": Tampering(text(LINES_0200, replaced(",12.50,", ",12.51,")), MIDDLE, "accounts: "),
    "a summary changed": Tampering(content(SUMMARY, lambda c: c.replace(b"12.50", b"12.51")), SUMMARY, "sums: "),
    "the products changed": Tampering(
        content(PRODUCTS, lambda c: c.replace(b"12.50", b"12.51")), PRODUCTS, "products: "
    ),
    "a line removed": Tampering(
        text(LINES_0200, lambda lines: lines.pop()), MIDDLE, "lines of 202610230200: expected 1, found 2"
    ),
    "a line doubled": Tampering(text(LINES_0200, lambda lines: lines.append(lines[-1])), LINES_0200, "is not after"),
    "the order changed": Tampering(text(LINES_0200, turned), LINES_0200, "is not after"),
    "an instant of another quarter-hour": Tampering(
        text(LINES_0200, replaced("2026-10-23T02:00:00.000Z", "2026-10-23T02:15:00.000Z")),
        LINES_0200,
        "is of another quarter-hour",
    ),
    "a partition of another quarter-hour": Tampering(
        text(LINES_0200, replaced("202610230200#", "202610230215#")), LINES_0200, "is of another quarter-hour"
    ),
    "an amount that is not a number": Tampering(
        text(LINES_0200, replaced(",12.50,", ",much,")), LINES_0200, "cannot be read: "
    ),
    "an amount beyond all sums": Tampering(
        text(LINES_0200, replaced(",12.50,", ",1E+500,")), MIDDLE, "cannot be read: "
    ),
    "a position that is none": Tampering(
        text(LINES_0200, replaced("2026-10-23T02:00:00.000Z.", "now.")), LINES_0200, "cannot be read: "
    ),
    "other columns": Tampering(
        text(LINES_0200, lambda lines: lines.__setitem__(0, lines[0].replace("agency", "agent"))),
        LINES_0200,
        "cannot be read: ",
    ),
    "lines that are not packed": Tampering(content(LINES_0200, gzip.decompress), LINES_0200, "cannot be read: "),
    "lines that are packed to a half": Tampering(
        content(LINES_0200, lambda c: c[:-20]), LINES_0200, "cannot be read: "
    ),
    "the same identity sealed twice": Tampering(sealed_twice, LINES.format("0245"), "shop#a was sealed before"),
    "the same identity under another position": Tampering(
        sealed_twice_elsewhere, LINES.format("0245"), "shop#a was sealed before"
    ),
    "a line too long to be one": Tampering(
        text(LINES_0200, lambda lines: lines.append("," * 2_000_000)), LINES_0200, "more than 1,000,000 characters"
    ),
    "a line too long to be one, in many cells with line ends": Tampering(
        text(LINES_0200, lambda lines: lines.append('"\n",' * 400_000)), LINES_0200, "more than 1,000,000 characters"
    ),
}


@cases("tampering", TAMPERINGS.values(), ids=TAMPERINGS)
def test_tampering_is_found_and_the_object_is_named(tampering: Tampering) -> None:
    objects = reports()
    tampering.do(objects)
    found = check(objects)
    assert not found.proven
    problems = [one for one in found.problems if one.startswith(f"{tampering.key}: ") and tampering.problem_text in one]
    assert problems, found.problems


# ---------------------------------------------------------------- tampering with parts

PARTS = "reports/2026/10/23/0130-0145/manifest.json"
PART_0, PART_1 = (f"ledger/dt=2026-10-23/quarter=0130/lines-{number:02d}.csv.gz" for number in (0, 1))


def in_parts() -> Objects:
    """Return a run of 16 shards in two parts, with two lines in each."""
    objects: Objects = {}
    lines = [
        line(utc("01:30:01"), "a", quarter_hour="202610230130#00"),
        line(utc("01:30:02"), "b", quarter_hour="202610230130#08"),
        line(utc("01:30:03"), "c", quarter_hour="202610230130#07"),
        line(utc("01:30:04"), "d", quarter_hour="202610230130#15"),
    ]
    seal(objects, "202610230130", "202610230130", lines, ("", ""), shards=16, parts=2)
    return objects


def moved(objects: Objects) -> None:
    """Move the last line of the first part to where it belongs in the order of the second part, and cover it up."""
    taken: list[str] = []
    objects[PART_0] = relined(objects[PART_0], lambda lines: taken.append(lines.pop()))
    objects[PART_1] = relined(objects[PART_1], lambda lines: lines.insert(2, *taken))
    cover_up(objects)


def swapped(objects: Objects) -> None:
    """Swap the files of both parts, and cover it up."""
    swap(PART_0, PART_1)(objects)
    cover_up(objects)


def parts_turned(manifest: Any) -> None:
    manifest["quarter_hours"][0]["files"].reverse()


TAMPERINGS_OF_PARTS = {
    "a part removed": Tampering(remove(PART_1), PART_1, "is missing"),
    "a byte of a part changed": Tampering(flip(PART_0), PART_0, "SHA-256: "),
    "two parts swapped": Tampering(swap(PART_0, PART_1), PART_0, "SHA-256: "),
    "a part slipped in": Tampering(
        lambda o: o.update({PART_1.replace("-01", "-02"): o[PART_1]}), PART_1.replace("-01", "-02"), "is in no manifest"
    ),
    "an only part slipped in": Tampering(lambda o: o.update({LINES_0130: o[PART_0]}), LINES_0130, "is in no manifest"),
    # covered up
    "two parts swapped and covered up": Tampering(
        swapped, PART_0, "shards beyond those covered: expected [], found [8, 15]"
    ),
    "a line moved to another part": Tampering(moved, PART_1, "shards beyond those covered: expected [], found [7]"),
    "a part hidden": Tampering(
        document(PARTS, lambda m: m["quarter_hours"][0]["files"].pop()),
        PARTS,
        "lines of 202610230130: expected 2, found 4",
    ),
    "a part hidden with its lines": Tampering(
        document(PARTS, lambda m: (m["quarter_hours"][0]["files"].pop(), m["quarter_hours"][0].update(lines=2))),
        PART_1,
        "is in no manifest",
    ),
    "the parts in another order": Tampering(document(PARTS, parts_turned), PARTS, "files of 202610230130: "),
    "a part named twice": Tampering(
        document(PARTS, lambda m: m["quarter_hours"][0]["files"].append(m["quarter_hours"][0]["files"][0])),
        PARTS,
        "files of 202610230130: ",
    ),
    "fewer parts than there are": Tampering(
        document(PARTS, lambda m: m.update(parts=1)), PARTS, "files of 202610230130: "
    ),
    "more parts than there are": Tampering(
        document(PARTS, lambda m: m.update(parts=3)), PART_0, "shards beyond those covered: expected [], found [7]"
    ),
    "no parts": Tampering(document(PARTS, lambda m: m.update(parts=0)), PARTS, "cannot be read: ValueError('0 parts')"),
}


@cases("tampering", TAMPERINGS_OF_PARTS.values(), ids=TAMPERINGS_OF_PARTS)
def test_tampering_with_a_part_is_found_and_the_object_is_named(tampering: Tampering) -> None:
    objects = in_parts()
    assert check(objects).proven
    tampering.do(objects)
    found = check(objects)
    assert not found.proven
    problems = [one for one in found.problems if one.startswith(f"{tampering.key}: ") and tampering.problem_text in one]
    assert problems, found.problems


@pytest.mark.parametrize("key", [MIDDLE, LINES_0200, SUMMARY, PRODUCTS, PAGE])
def test_an_object_that_cannot_be_opened_is_named_with_the_reason(key: str) -> None:
    objects = reports()
    plain = opening(objects)

    def open_object(name: str) -> IO[bytes]:
        if name == key:
            raise FileNotFoundError(ENOENT, "is not a regular file", name)
        return plain(name)

    found = verify(open_object, objects)
    assert f"{key}: is not a regular file" in found.problems
    assert not found.proven


def test_recomputing_the_hashes_of_untouched_files_changes_nothing() -> None:
    """So the tamperings above are found for what they are."""
    objects = reports()
    cover_up(objects)
    objects[LINES_0200] = relined(objects[LINES_0200], lambda _: None)
    cover_up(objects)
    assert check(objects).problems == []


def test_an_identity_may_be_sealed_again_after_its_retention() -> None:
    objects = reports()
    sealed_twice(objects)
    # Sealed at 01:30:01 and, one retention later to the microsecond, at 02:50.
    assert check(objects, timedelta(minutes=79, seconds=59)).proven
    assert not check(objects, timedelta(minutes=79, seconds=59, microseconds=1)).proven
    assert check(objects, timedelta(minutes=79)).proven
    assert not check(objects, timedelta(minutes=80)).proven
    assert not check(objects).proven


@given(st.data())
def test_a_change_of_any_byte_is_found_except_in_the_last_manifest(data: st.DataObject) -> None:
    objects = reports()
    key = data.draw(st.sampled_from(sorted(objects.keys() - {LAST})))
    at = data.draw(st.integers(0, len(objects[key]) - 1))
    other = data.draw(st.integers(0, 255).filter(lambda byte: byte != objects[key][at]))
    objects[key] = objects[key][:at] + bytes([other]) + objects[key][at + 1 :]
    assert not check(objects).proven


@given(st.data())
def test_the_removal_of_any_object_is_found_except_of_the_last_manifest(data: st.DataObject) -> None:
    objects = reports()
    del objects[data.draw(st.sampled_from(sorted(objects.keys() - {LAST})))]
    assert not check(objects).proven
