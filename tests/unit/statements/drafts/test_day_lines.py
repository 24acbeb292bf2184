"""Collecting the lines of a day."""

import csv
import gzip
import io
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import partial
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.identifiers import Account
from quarterhour.model.periods import time_zone
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.reports.lines import COLUMNS, read_lines, read_raw, unescape_formula
from quarterhour.statements.document.tax import Taxable, TaxNames
from quarterhour.statements.document.taxed_lines import commissions
from quarterhour.statements.drafts import day_lines
from quarterhour.statements.drafts.day_lines import (
    Collector,
    pack_totals,
    read_before_first_period,
    read_blocks,
    read_pieces,
    read_totals,
)
from quarterhour.statements.drafts.figures import OTHER_DAYS, AccountSums, BaseFigures, Kind, LastRate, Sum
from quarterhour.statements.plan import Progress, StatementPlan
from tests.support.statement_plans import NOVEMBER, SETTINGS, minutes, plan, posting, sealed_file

GBP = Account("42", "GBP")
QUARTER_HOUR = QuarterHour.parse("202611230130")


def collected(items: list[dict[str, Any]], planned: StatementPlan | None = None, **pins: Any) -> Collector:
    collector = Collector(planned or plan(), time_zone("UTC"))
    for _ in collector.add(QUARTER_HOUR, read_raw(sealed_file(items)), pins):
        pass
    return collector


def sums_of(collector: Collector) -> dict[Account, AccountSums]:
    return dict(collector.totals())


def texts_of(collector: Collector, planned: StatementPlan | None = None) -> dict[Account, str]:
    piece = collector.take()
    if piece is None:
        return {}
    files = [BytesIO(content) for _, content in piece.files(planned or plan())]
    return {block.account: block.text.decode() for file in files for block in read_blocks(file)}


def test_lines_are_added_up_by_account_and_kept_as_they_are() -> None:
    items = [
        posting(1, minutes(0)),
        posting(2, minutes(1), agency="7", product='a, "b"'),
        posting(3, minutes(2), type="sale.refunded", amount="-4", commission="-0.5", refers_to="e1"),
    ]
    collector = collected(items)
    sums = sums_of(collector)
    assert sums[GBP].parts == {
        (Kind.SALES, False): Sum(1, Decimal("10.00"), Decimal("1.25")),
        (Kind.REFUNDS, False): Sum(1, Decimal(-4), Decimal("-0.5")),
    }
    assert sums[GBP].days == {"2026-11-23": Sum(2, Decimal("6.00"), Decimal("0.75"))}
    texts = texts_of(collector)
    raw = [text for text, _ in read_raw(sealed_file(items))]
    assert texts == {GBP: raw[1] + raw[3], Account("7", "GBP"): raw[2]}


def test_lines_of_later_periods_and_of_those_before_the_first_one_are_left_out() -> None:
    progress = Progress(NOVEMBER.previous, NOVEMBER.previous, QuarterHour.parse("202611040000"))
    planned = plan(progress=progress)
    items = [
        posting(1, minutes(0), period="2026-12", commission="7"),
        posting(2, minutes(1), period="2026-10"),
        posting(3, minutes(2), period="2026-11", prior_period="prior period"),
        posting(4, minutes(3), period="2026-09"),
    ]
    sums = sums_of(collected(items, planned))[GBP]
    assert sums.parts == {(Kind.SALES, True): Sum(2, Decimal("20.00"), Decimal("2.50"))}


def test_a_day_is_that_of_business_time_in_the_zone() -> None:
    items = [
        posting(1, minutes(0), time="2026-11-22T23:30:00Z"),
        posting(2, minutes(1), time="2026-11-22T12:00:00.5Z"),
        posting(3, minutes(2), time="2026-10-31T12:00:00Z"),
        posting(4, minutes(3), time="0001-01-01T00:00:00Z"),
    ]
    collector = Collector(plan(), time_zone("Europe/Berlin"))
    list(collector.add(QUARTER_HOUR, read_raw(sealed_file(items)), {}))
    days = sums_of(collector)[GBP].days
    assert {day: one.lines for day, one in days.items()} == {"2026-11-23": 1, "2026-11-22": 1, OTHER_DAYS: 2}


def test_lines_are_added_up_by_their_tax_points() -> None:
    items = [
        posting(1, minutes(0), tax_point="2026-10-05", time="2026-11-20T00:00:00Z"),
        posting(2, minutes(1), tax_point="2026-11-23"),
        posting(3, minutes(2), tax_point="2026-11-23"),
        posting(4, minutes(3), tax_point="2026-11-23", type="payment.recorded"),
        posting(5, minutes(4), tax_point="2026-11-23", type="adjustment.recorded", kind="opening"),
    ]
    points = {day: one.lines for day, one in sums_of(collected(items))[GBP].tax_points.items()}
    assert points == {"2026-10-05": 1, "2026-11-23": 2}


def test_the_tax_of_lines_is_decided_by_tax_point_and_by_the_named_kinds_and_categories() -> None:
    items = [
        posting(1, minutes(0), tax_point="2026-11-05", category="books"),
        posting(2, minutes(1), tax_point="2026-11-05", category="toys"),
        posting(3, minutes(2), tax_point="2026-11-06", category="=books"),
        posting(4, minutes(3), tax_point="2026-11-05", type="adjustment.recorded", kind="fee", commission="15"),
        posting(5, minutes(4), tax_point="2026-11-05", type="adjustment.recorded", kind="other", commission="2"),
        posting(6, minutes(5), tax_point="2026-11-05", type="adjustment.recorded", kind="opening", commission="9"),
        posting(7, minutes(6), tax_point="2026-11-05", type="payment.recorded", commission="0"),
    ]
    (text,) = texts_of(collected(items)).values()
    names = TaxNames(frozenset({"fee"}), frozenset({"books", "=books"}))
    assert commissions(io.StringIO(text, newline=""), names) == {
        Taxable(date(2026, 11, 5), "", "books"): Decimal("1.25"),
        Taxable(date(2026, 11, 5)): Decimal("3.25"),
        Taxable(date(2026, 11, 6), "", "=books"): Decimal("1.25"),
        Taxable(date(2026, 11, 5), "fee"): Decimal(15),
    }


def test_figures_in_the_base_currency_are_at_the_rates_of_the_quarter_hour() -> None:
    planned = plan(settings=replace(SETTINGS, base="EUR"))
    rate = ExchangeRate(Decimal("0.8"), "ecb", "EUR", datetime(2026, 11, 20, tzinfo=UTC))
    base = sums_of(collected([posting(1, minutes(0))], planned, GBP=rate))[GBP].base
    assert base is not None
    assert (base.net, base.commission) == (Fraction(25, 2), Fraction(25, 16))
    assert not base.missing
    without = sums_of(collected([posting(1, minutes(0))], planned))[GBP].base
    assert without is not None
    assert without.missing == {"202611230130"}


def test_the_last_exchange_rate_is_that_of_the_last_quarter_hour_in_the_period_with_lines() -> None:
    planned = plan(settings=replace(SETTINGS, base="EUR"))
    collector = Collector(planned, time_zone("UTC"))
    units = {"202611302330": "0.8", "202611302345": "0.81", "202612010000": "0.82"}
    for number, (text, one) in enumerate(units.items()):
        quarter_hour = QuarterHour.parse(text)
        rate = ExchangeRate(Decimal(one), "ecb", "EUR", datetime(2026, 11, 20, tzinfo=UTC))
        items = [posting(number, quarter_hour.start), posting(number + 10, quarter_hour.start, agency=text)]
        list(collector.add(quarter_hour, read_raw(sealed_file(items)), {"GBP": rate}))
    of_ecb = partial(LastRate, source="ecb", as_of="2026-11-20T00:00:00.000Z")
    rates = {account.agency: sums.base.rate for account, sums in collector.totals() if sums.base}
    assert rates == {
        "42": of_ecb(is_in_period=True, quarter_hour="202611302345", units=Decimal("0.81")),
        "202611302330": of_ecb(is_in_period=True, quarter_hour="202611302330", units=Decimal("0.8")),
        "202611302345": of_ecb(is_in_period=True, quarter_hour="202611302345", units=Decimal("0.81")),
        "202612010000": of_ecb(is_in_period=False, quarter_hour="202612010000", units=Decimal("0.82")),
    }
    assert sums_of(collected([posting(1, minutes(0))], planned))[GBP].base == BaseFigures(missing={"202611230130"})


def test_the_text_of_a_line_is_that_of_the_sealed_file() -> None:
    items = [posting(1, minutes(0), product="a", category="b")]
    (row,) = csv.reader(io.StringIO(texts_of(collected(items))[GBP], newline=""))
    line = dict(zip(COLUMNS, row, strict=True))
    assert (line["product"], line["category"], line["amount"]) == ("a", "b", "10.00")


def test_a_file_with_other_columns_is_refused() -> None:
    rows = iter([("agency,currency\n", ["agency", "currency"])])
    with pytest.raises(ValueError, match="the columns are"):
        list(Collector(plan(), time_zone("UTC")).add(QUARTER_HOUR, rows, {}))


def test_a_day_of_many_lines_is_collected_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(day_lines, "PIECE", 500)
    items = [posting(number, minutes(number % 15)) for number in range(10)]
    collector = Collector(plan(), time_zone("UTC"))
    full = collector.add(QUARTER_HOUR, read_raw(sealed_file(items)), {})
    texts = [texts_of(collector)[GBP] for _ in full]
    texts += texts_of(collector).values()
    assert collector.pieces == len(texts) > 2
    header = len(",".join(COLUMNS)) + 1
    assert "".join(texts) == "".join(text for text, _ in read_raw(sealed_file(items)))[header:]
    assert sums_of(collector)[GBP].lines == 10


def test_each_account_is_in_the_file_of_its_group() -> None:
    planned = plan(lines=100_000)
    items = [posting(number, minutes(0), agency=f"a{number}") for number in range(20)]
    piece = collected(items, planned).take()
    assert piece is not None
    found = {group: [block.account for block in read_blocks(BytesIO(file))] for group, file in piece.files(planned)}
    assert sum(map(len, found.values())) == 20
    assert len(found) == planned.groups == 4
    for group, accounts in found.items():
        assert accounts == sorted(accounts)
        assert {planned.group_of(account) for account in accounts} == {group}


def test_totals_of_a_day_are_read_as_they_were_written() -> None:
    collector = collected([posting(1, minutes(0)), posting(2, minutes(0), agency="7")])
    collector.pieces = 3
    content = pack_totals(collector)
    assert dict(read_totals(BytesIO(content))) == sums_of(collector)
    assert read_pieces(BytesIO(content)) == 3
    assert read_before_first_period(BytesIO(content)) == {}


def test_lines_before_the_first_period_are_counted_once_by_the_run_for_which_they_were_recorded() -> None:
    early = {"period": "2026-10"}
    items = [
        posting(1, minutes(0)),
        posting(2, minutes(0), **early),
        posting(3, minutes(0), currency="EUR", **early),
        posting(4, minutes(0), type="payment.recorded", **early),
        posting(5, minutes(0), currency="XXX", **early),
        posting(6, minutes(0), period="2026-12"),
    ]
    collector = collected(items)
    found = read_before_first_period(BytesIO(pack_totals(collector)))
    euros = Account("42", "EUR")
    assert {account: some.lines for account, some in found.items()} == {euros: 1, GBP: 2}
    assert found[GBP].amount == found[euros].amount == Decimal(items[1]["amount"])
    assert collected(items, replace(plan(), after=plan().bound)).before_first_period == {}


def test_a_damaged_piece_is_refused() -> None:
    piece = collected([posting(1, minutes(0))]).take()
    assert piece is not None
    ((_, content),) = piece.files(plan())
    with pytest.raises(ValueError, match="a block ends after"):
        list(read_blocks(BytesIO(content[:-1])))


texts = st.text(st.sampled_from("=+'\",\n ab") | st.characters(codec="utf-8", exclude_characters="\r"), max_size=12)


@given(st.lists(st.tuples(texts, texts), min_size=1, max_size=4))
def test_raw_rows_have_the_cells_of_any_reader(values: list[tuple[str, str]]) -> None:
    items = [posting(number, minutes(0), product=one, customer=other) for number, (one, other) in enumerate(values)]
    rows = list(read_raw(sealed_file(items)))
    lines = list(read_lines(sealed_file(items)))
    assert len(rows) == len(lines) + 1
    for (_, cells), line in zip(rows[1:], lines, strict=True):
        assert [unescape_formula(cells[COLUMNS.index(name)]) for name in ("product", "customer")] == [
            line["product"],
            line["customer"],
        ]
    assert b"".join(text.encode() for text, _ in rows) == gzip.decompress(sealed_file(items).read())
