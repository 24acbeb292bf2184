"""The sealed lines of a quarter-hour."""

import csv
import gzip
import io
from collections.abc import Iterable
from datetime import timedelta
from decimal import Decimal
from hashlib import sha256
from io import BytesIO
from typing import IO, Any, NamedTuple, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.event import DETAILS, REFUND
from quarterhour.ledger.postings.segments import PostingValues
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.model.errors import LedgerItemError
from quarterhour.model.identifiers import Account
from quarterhour.model.money import NO_CURRENCY
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals
from quarterhour.reports.lines import COLUMNS, escape_formula, read_lines, tally_lines, unescape_formula
from quarterhour.reports.plan import PartTotals, SealedFile
from quarterhour.reports.writer import SealedFileWriter
from tests.support.builders import AT, claim, event, names
from tests.support.cases import cases
from tests.support.sealing import line

RUN_BY_SPREADSHEETS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
texts = st.text(st.sampled_from("=+-@\t\r'ab") | st.characters(codec="utf-8"), max_size=20)


class Packed(NamedTuple):
    """What the writer returns of a file."""

    sealed: SealedFile
    totals: PartTotals


def sealed(items: Iterable[PostingValues]) -> tuple[bytes, Packed]:
    with SealedFileWriter() as writer:
        writer.write(items)
        sealed_ = writer.seal()
        return writer.file.read(), Packed(sealed_, writer.totals())


def cells(content: bytes) -> list[list[str]]:
    """Read a lines file as any CSV reader does."""
    return list(csv.reader(io.StringIO(gzip.decompress(content).decode(), newline="")))


# ---------------------------------------------------------------- cells that a spreadsheet would run


@given(texts)
def test_an_escaped_cell_is_no_formula_and_is_unescaped_to_its_text(text: str) -> None:
    cell = escape_formula(text)
    assert not cell.startswith(RUN_BY_SPREADSHEETS)
    assert unescape_formula(cell) == text


@given(one=texts, other=texts)
def test_two_texts_never_share_a_cell(one: str, other: str) -> None:
    assert (escape_formula(one) == escape_formula(other)) == (one == other)


@pytest.mark.parametrize("text", ["=1+1", "+44 20", "-5", "@SUM(A1)", "\tx", "\rx", "\nx", "\uff1d1", "'quoted'"])
def test_a_dangerous_cell_starts_with_a_quote_mark(text: str) -> None:
    assert escape_formula(text) == "'" + text


@pytest.mark.parametrize("text", ["", "tea", "a=b", " =1", "1-2", "ä'", "{}"])
def test_any_other_cell_stays_as_it_is(text: str) -> None:
    assert escape_formula(text) == text


def test_every_text_of_a_sender_is_escaped_and_numbers_stay_numbers() -> None:
    bad = "=cmd|' /C calc'!A0"
    details = dict.fromkeys(("product", "customer", "order_id", "line", "location", "refers_to"), bad)
    sold = event("+1", type_="adjustment.recorded", amount="-5.00", quantity="-1", unit_price="-5", **details)
    content, _ = sealed([{**ledger_values(sold, claim(sold)), "agency": bad, "source": bad}])
    header, row = cells(content)
    found = dict(zip(header, row, strict=True))
    numbers = {"amount": "-5.00", "commission": "-0.5000", "quantity": "-1", "unit_price": "-5"}
    assert {name: found[name] for name in numbers} == numbers
    dangerous = {name for name, cell in found.items() if cell.startswith(RUN_BY_SPREADSHEETS)}
    assert dangerous == numbers.keys()
    assert {name for name, cell in found.items() if cell == "'" + bad} == {"agency", "source", *details}
    assert found["id"] == "'+1"


# ---------------------------------------------------------------- the file


@st.composite
def ledgers(draw: st.DrawFn) -> list[PostingValues]:
    """Draw the ledger of a quarter-hour, in order."""
    items = []
    for i in range(draw(st.integers(1, 6))):
        at = AT + timedelta(milliseconds=i)
        more = {name: draw(names) for name in draw(st.sets(st.sampled_from(DETAILS), max_size=3))}
        account = f"{draw(st.sampled_from(['42', '7']))}#{draw(st.sampled_from(['GBP', 'EUR']))}"
        items.append(line(at, f"{i}{draw(names)}", draw(st.sampled_from(["12.50", "0", "-3.20"])), account, **more))
        if draw(st.booleans()):
            items[-1] |= {"period": "2026-09", "prior_period": "1"}
    return items


@given(ledgers())
def test_reading_a_sealed_file_returns_the_ledger_items(items: list[PostingValues]) -> None:
    content, packed = sealed(items)
    values = [{"period": "2026-10"} | item for item in items]
    read = list(read_lines(BytesIO(content)))
    assert [{name: cell for name, cell in one.items() if cell and name != "flag"} for one in read] == values
    assert tally_lines(read) == packed.totals


@given(ledgers())
def test_the_same_events_always_give_the_same_bytes(items: list[PostingValues]) -> None:
    shuffled = [dict(reversed(item.items())) for item in items]
    content, first = sealed(items)
    again, second = sealed(shuffled)
    assert content == again
    assert first.sealed == second.sealed


ANY_TEXT = st.text(st.sampled_from("=+-@\t\r\n',\"ab ") | st.characters(codec="utf-8"), min_size=1, max_size=8)
OPTIONAL = ("product", "quantity", "customer", "extra", "category", "terms", "arithmetic", "prior_period", "unknown")


@given(texts_=st.lists(st.dictionaries(st.sampled_from(("id", "agency", *OPTIONAL)), ANY_TEXT), min_size=1, max_size=4))
def test_a_sealed_file_is_what_the_csv_and_gzip_modules_write(texts_: list[dict[str, str]]) -> None:
    items = [line(AT, "a", "-3.20", **some) for some in texts_]
    assert sealed(items)[0] == plainly_sealed(items)


def test_a_sealed_file_of_many_lines_is_so_too() -> None:
    items = [line(AT, f"order-{number}", product='"' * (number % 7 == 0)) for number in range(2000)]
    assert sealed(items)[0] == plainly_sealed(items)


def plainly_sealed(items: Iterable[PostingValues]) -> bytes:
    """Return a sealed file, written cell by cell."""
    packed = BytesIO()
    with (
        gzip.GzipFile(filename="", mode="wb", fileobj=packed, compresslevel=6, mtime=0) as file,
        io.TextIOWrapper(cast("IO[bytes]", file), encoding="utf-8", newline="") as text,
    ):
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        for item in items:
            values = dict(item)
            if values["type"] == REFUND and "refers_to" not in values:
                values["flag"] = "unlinked refund"
            writer.writerow(plain_cell(name, values.get(name, "")) for name in COLUMNS)
    return packed.getvalue()


SENT = {
    "source",
    "id",
    "agency",
    "product",
    "customer",
    "order_id",
    "line",
    "location",
    "refers_to",
    "extra",
    "category",
}


def plain_cell(name: str, text: str) -> str:
    return "'" + text if name in SENT and text.startswith((*RUN_BY_SPREADSHEETS, "'")) else text


def test_the_text_of_a_sealed_file_never_changes() -> None:
    odd = {"product": 'a "green", tea', "extra": '{"a":"b"}', "customer": "=Zo\u00eb\r\n", "location": "GB#London"}
    items = [line(AT, "a"), line(AT, "+b", "-3.20"), line(AT, "c", category="tea", terms="event", **odd)]
    digest = "c628f16e824f604eafb36a242dbcc988fe5f0e67efbd90eb7f30e6db3fc6b2b2"
    assert sha256(gzip.decompress(sealed(items)[0])).hexdigest() == digest


def test_lines_and_totals_have_the_period_of_the_event() -> None:
    items = [line(AT, "a", "1.00"), line(AT, "b", "2.00", period="2026-09", prior_period="1")]
    content, packed = sealed(items)
    found = [(one["period"], one["prior_period"]) for one in read_lines(BytesIO(content))]
    assert found == [("2026-10", ""), ("2026-09", "1")]
    account = Account("42", "GBP")
    assert {of: one.gross for of, one in packed.totals.periods.items()} == {
        (account, Period(2026, 10)): Decimal("1.00"),
        (account, Period(2026, 9)): Decimal("2.00"),
    }


def test_a_posting_with_a_damaged_period_is_refused() -> None:
    with pytest.raises(LedgerItemError, match="is not a month"):
        sealed([line(AT, "a", "1.00", period="2026-13")])


def test_the_bytes_do_not_depend_on_when_they_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [line(AT, "a")]
    content, _ = sealed(items)
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert sealed(items)[0] == content


@given(ledgers())
def test_a_sealed_file_knows_its_lines_its_hash_its_size_and_its_totals(items: list[PostingValues]) -> None:
    content, packed = sealed(items)
    assert packed.sealed.lines == len(items)
    assert packed.sealed.sha256 == sha256(content).hexdigest()
    assert packed.sealed.size == len(content)
    assert sum(one.events for one in packed.totals.periods.values()) == len(items)
    for (account, period), totals in packed.totals.periods.items():
        row = (account.agency, account.currency, str(period))
        own = [item for item in items if (item["agency"], item["currency"], item["period"]) == row]
        assert totals == sum((_totals(item) for item in own), Totals())


def _figures(amount: str) -> dict[str, Any]:
    gross, refunds = ("0", amount) if amount.startswith("-") else (amount, "0")
    return {"events": 1, "gross": gross, "refunds": refunds}


def _totals(item: PostingValues) -> Totals:
    return Totals.of({**_figures(item["amount"]), "commission": item["commission"]})


def test_an_empty_quarter_hour_has_no_file() -> None:
    _, packed = sealed([])
    assert (packed.sealed.lines, packed.sealed.sha256, packed.sealed.size, packed.totals) == (0, "", 0, PartTotals())


def test_a_line_holds_every_column_in_a_fixed_order() -> None:
    content, _ = sealed([line(AT, "a", product="tea, green", customer='say "hi"')])
    header, row = cells(content)
    assert tuple(header) == COLUMNS
    assert header[:8] == ["quarter_hour", "position", "recorded_at", "source", "id", "type", "agency", "currency"]
    assert (row[header.index("product")], row[header.index("customer")]) == ("tea, green", 'say "hi"')


@pytest.mark.parametrize(
    ("amount", "more", "flag"),
    [
        ("12.50", {}, ""),
        ("-1.00", {"refers_to": "order-1"}, ""),
        ("-1.00", {}, "unlinked refund"),
        ("-1.00", {"type": "adjustment.recorded"}, ""),
        ("12.50", {"unregistered": "1"}, "unregistered agency"),
        ("-1.00", {"unregistered": "1"}, "unlinked refund; unregistered agency"),
    ],
)
def test_an_unlinked_refund_and_an_unregistered_agency_are_flagged(
    amount: str, more: dict[str, str], flag: str
) -> None:
    content, _ = sealed([line(AT, "a", amount, **more)])
    assert [one["flag"] for one in read_lines(BytesIO(content))] == [flag]


def test_only_lines_with_a_location_and_a_currency_count_for_a_location() -> None:
    of_place = {"location": "GB#London"}
    view = line(AT, "v", "0", f"42#{NO_CURRENCY}", type="view.recorded", customer="ann", **of_place)
    sold = line(AT + timedelta(seconds=1), "s", "12.50", **of_place)
    content, packed = sealed([view, sold])
    assert packed.totals.locations == {("GB#London", "GBP"): Totals.of({**_figures("12.50"), "commission": "1.250"})}
    assert tally_lines(read_lines(BytesIO(content))) == packed.totals
    assert sealed([view])[1].totals.locations == {}


CONTENT = sealed([line(AT, "a"), line(AT + timedelta(seconds=1), "b")])[0]
TEXT = gzip.decompress(CONTENT)
HEADER, ROW, _ = TEXT.splitlines(keepends=True)
BROKEN = {
    "no gzip": TEXT,
    "nothing": b"",
    "cut off": CONTENT[: len(CONTENT) // 2],
    "damaged": CONTENT[:20] + b"\0\0\0\0" + CONTENT[24:],
    "another checksum": CONTENT[:-8] + b"\0\0\0\0" + CONTENT[-4:],
    "no header": gzip.compress(ROW),
    "other columns": gzip.compress(TEXT.replace(b"agency", b"agent")),
    "no text": gzip.compress(HEADER + b"\xff\xfe"),
    "an open quote": gzip.compress(HEADER + b'"' + ROW),
    "a cell too few": gzip.compress(HEADER + ROW.replace(b",", b"", 1)),
    "a cell too many": gzip.compress(HEADER + b"x," + ROW),
    "an empty line": gzip.compress(HEADER + b"\n" + ROW),
}


@cases("content", BROKEN.values(), ids=BROKEN)
def test_a_malformed_sealed_file_is_refused(content: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        list(read_lines(BytesIO(content)))
