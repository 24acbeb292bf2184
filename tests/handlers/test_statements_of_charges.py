"""Statements of rate cards with several charges, from recording to the proof: the figures are worked out by hand."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.proof.verify import verify
from quarterhour.statements.keys import statement_prefix
from tests.handlers.test_statement_runs import NOVEMBER, OCTOBER, Marketplace
from tests.handlers.test_taxes import AMSTERDAM, STANDARD_21, agency
from tests.support.agencies import ANYWHERE
from tests.support.events import Cloud, refund, sale, void
from tests.support.sealing import opening
from tests.support.system import opened

TIERS = {"per": "quarter", "of": "account", "mode": "graduated"}
STEPS = [{"from": "0", "percent": "12"}, {"from": "1000", "percent": "10"}]
RULES: list[dict[str, Any]] = [
    {
        "currency": "EUR",
        "charges": [
            {"name": "commission", "tiers": {**TIERS, "steps": STEPS}},
            {"name": "payment fee", "percent": "1.4", "fixed": "0.25", "refund": "keep"},
            {"name": "listing fee", "amount": "31.00", "per": "month", "part_months": "by_days"},
            {"name": "minimum", "minimum": "50.00", "per": "month"},
        ],
    }
]
BY_CHARGE = STANDARD_21 | {"by_charge": {"listing fee": {"scheme": "standard", "percent": "9"}}}
EUR = {"currency": "EUR"}


def sold(id_: str, amount: str) -> Cloud:
    return sale(id_, amount, agency="t", **EUR)


@pytest.fixture(scope="module")
def sealed() -> Iterator[Marketplace]:
    """October and November of an agency with tiers, and of one that has sold nothing."""
    with opened(AMSTERDAM, start=datetime(2026, 10, 5, 10, tzinfo=UTC)) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", ANYWHERE)
        shop.write("/agencies/t", agency("t", BY_CHARGE, "2026-10-02T00:00:00Z"))
        shop.write("/agencies/idle", agency("idle", BY_CHARGE, "2026-11-16T00:00:00Z"))
        shop.write("/documents/rate-card:default", {"valid_from": "2026-01-01T00:00:00Z", "rules": RULES})
        shop.write("/agencies/net", agency("net", STANDARD_21, "2026-10-02T00:00:00Z"))
        of_net = [{"charges": [{"name": "commission", "percent": "10", "of": "net"}]}]
        shop.write("/documents/rate-card:net", {"valid_from": "2026-01-01T00:00:00Z", "rules": of_net})
        shop.record(sale("n1", "121", agency="net", tax="21", **EUR), sale("n2", "50", agency="net", **EUR))
        shop.record(refund("n3", "-60.50", "n1", agency="net", **EUR))
        shop.record(sold("s1", "900"))
        shop.record(sold("s2", "300"))
        shop.until(datetime(2026, 11, 2, 1, tzinfo=UTC))
        shop.watch()
        shop.record(
            refund("r1", "-300", "s2", agency="t", **EUR), sold("s3", "50"), void("v1", "s3", agency="t", **EUR)
        )
        shop.until(datetime(2026, 12, 2, 1, tzinfo=UTC))
        shop.watch()
        yield shop


def charged(shop: Marketplace, period: Period, name: str) -> dict[str, str]:
    statement = shop.statement(period, name, "EUR")
    return {one["name"]: one["amount"] for row in statement["taxes"] for one in row["charges"]}


def test_a_month_has_a_line_for_each_charge(sealed: Marketplace) -> None:
    """Tiers of 1200: 1000 at 12 % and 200 at 10 %. The fee is 1.4 % and 0.25 a sale; 30 of 31 days of the listing."""
    assert charged(sealed, OCTOBER, "t") == {
        "commission": "140.00",
        "payment fee": "17.30",
        "listing fee": "30.00",
    }
    statement = sealed.statement(OCTOBER, "t", "EUR")
    assert (statement["commission"], statement["commission_exact"]) == ("187.30", "187.300")
    assert [(row["percent"], row["base"], row["tax"]) for row in statement["taxes"]] == [
        ("21", "157.30", "33.03"),
        ("9", "30.00", "2.70"),
    ]


def test_the_next_month_of_the_span_charges_the_difference(sealed: Marketplace) -> None:
    """900 are left: 108 less the 140 that October charged. The refund keeps its fee, and the minimum makes it 50."""
    (tiers, *_) = sealed.statement(NOVEMBER, "t", "EUR")["period_charges"]
    assert (tiers["turnover"], tiers["charged_before"], tiers["amount"]) == ("900", "140", "-32")
    assert charged(sealed, NOVEMBER, "t") == {
        "commission": "-32.00",
        "listing fee": "31.00",
        "minimum": "82.00",
    }


def test_an_agency_that_has_sold_nothing_pays_its_fee_and_the_minimum(sealed: Marketplace) -> None:
    assert charged(sealed, NOVEMBER, "idle") == {"listing fee": "15.50", "minimum": "50.00"}
    statement = sealed.statement(NOVEMBER, "idle", "EUR")
    assert (statement["lines"], statement["tax_in"]) == (0, None)
    assert [one for one in sealed.drafts(OCTOBER) if one["agency"] == "idle"] == []


def test_a_draft_counts_the_lines_that_do_not_say_what_a_charge_is_without(sealed: Marketplace) -> None:
    """10 % of 100 and of 50, less half of the first; the refund has the terms of its sale, and lacks nothing."""
    assert charged(sealed, OCTOBER, "net") == {"commission": "10.00"}
    found = sealed.world.read(f"/drafts/net/EUR/{OCTOBER}")["checks"]
    assert [(one["check"], one["level"], one["message"]) for one in found] == [
        ("amount_parts", "warning", "1 line without the tax or shipping that a charge leaves out: charged on more"),
    ]


def test_all_of_it_is_proven(sealed: Marketplace) -> None:
    files = sealed.files("")
    found = verify(opening(files), files)
    assert found.problems == []
    assert (found.drafts, found.waiting) == (4, 0)


def test_page_and_invoice_have_a_line_for_each_charge_too(sealed: Marketplace) -> None:
    prefix = statement_prefix(OCTOBER, Account("t", "EUR"))
    page, xml = (sealed.read(prefix + name).decode() for name in ("statement.html", "statement.xml"))
    page = page.replace("\N{NO-BREAK SPACE}", " ")
    assert "12 % from 0.00 to 1,000.00" in page
    assert "10 % from 1,000.00" in page
    assert "30 of 31 days" in page
    assert re.findall("<cbc:Name>(.*?)</cbc:Name>", xml) == ["Commission on sales", "payment fee", "listing fee"]
    assert re.findall('<cbc:LineExtensionAmount currencyID="EUR">(.*?)<', xml) == ["187.30", "140.00", "17.30", "30.00"]
    later = sealed.read(statement_prefix(NOVEMBER, Account("t", "EUR")) + "statement.html").decode()
    assert "Charged by earlier documents" in later
    assert "Up to the minimum of" in later
