"""Tax by tax point, from the registration of agencies to sealed statements: the figures are worked out by hand."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from quarterhour.model.identifiers import Account
from quarterhour.proof.verify import verify
from quarterhour.statements.keys import statement_prefix
from tests.handlers.test_statement_runs import NOVEMBER, OCTOBER, Marketplace
from tests.support.agencies import ANYWHERE
from tests.support.events import Cloud, adjustment, payment, refund, sale, void
from tests.support.sealing import opening
from tests.support.system import opened

AMSTERDAM: dict[str, str | int] = {
    "time_zone": "Europe/Amsterdam",
    "grace_days": 1,
    "first_period": "2026-10",
}
STANDARD_21 = {"scheme": "standard", "percent": "21"}
REVERSE = {"scheme": "reverse_charge"}
OF_NOVEMBER = "2026-10-31T23:00:00Z"
"""The beginning of November in Amsterdam."""


def on(time: str, event: Cloud) -> Cloud:
    return event | {"time": time}


def sold(id_: str, agency: str, amount: str = "100") -> Cloud:
    return sale(id_, amount, agency=agency, currency="EUR", commission_rate="0.10")


def fee(id_: str, agency: str, commission: str) -> Cloud:
    return adjustment(id_, commission, kind="chargeback_fee", agency=agency, currency="EUR")


SEVERAL = STANDARD_21 | {
    "by_kind": {"chargeback_fee": {"scheme": "outside_scope"}},
    "by_category": {"books": {"scheme": "standard", "percent": "9"}},
}
"""A tax profile with several rates."""


def agency(name: str, tax: dict[str, Any], valid_from: str | None = None) -> dict[str, Any]:
    at = {"valid_from": valid_from} if valid_from else {}
    return {"legal_name": name, "address": "1 Quay", "country": "DE", "tax": tax | {"vat_id": "DE136695976"}, **at}


def owner(name: str, valid_from: str | None = None) -> dict[str, Any]:
    return {**ANYWHERE, "legal_name": name, **({"valid_from": valid_from} if valid_from else {})}


@pytest.fixture(scope="module")
def sealed() -> Iterator[Marketplace]:
    """October and November of a marketplace whose agencies change their tax."""
    with opened(AMSTERDAM, start=datetime(2026, 10, 5, 10, tzinfo=UTC)) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", owner("Market B.V."))
        for name in ("chg", "mid", "big", "early", "forth"):
            shop.write(f"/agencies/{name}", agency(name, STANDARD_21))
        shop.write("/agencies/mid", agency("mid", REVERSE, "2026-10-14T22:00:00Z"), seen=1)
        shop.write("/agencies/early", agency("early", REVERSE, "2026-09-30T22:00:00Z"), seen=1)
        shop.write("/agencies/forth", agency("forth", REVERSE, "2026-10-09T22:00:00Z"), seen=1)
        shop.write("/agencies/forth", agency("forth", STANDARD_21, "2026-10-19T22:00:00Z"), seen=2)
        shop.write("/agencies/fees", agency("fees", SEVERAL))
        shop.write("/agencies/turn", agency("turn", STANDARD_21))
        shop.write("/agencies/turn", agency("turn", SEVERAL, "2026-10-09T22:00:00Z"), seen=1)
        shop.write("/agencies/turn", agency("turn", REVERSE, "2026-10-19T22:00:00Z"), seen=2)
        shop.record(
            on("2026-09-30T21:59:00Z", sold("u0", "turn")),
            *(on(f"2026-10-{day:02}T10:00:00Z", fee(f"u{day}", "turn", "1.004")) for day in (1, 2, 5)),
        )
        shop.record(
            sold("p1", "fees"),
            sold("p2", "fees", "50") | {"data": sold("p2", "fees", "50")["data"] | {"category": "books"}},
            adjustment("p3", "15", kind="chargeback_fee", agency="fees", currency="EUR"),
            adjustment("p4", "4", kind="opening", agency="fees", currency="EUR"),
        )
        shop.record(
            sold("c1", "chg"),
            sold("m1", "mid"),
            sold("b1", "big", "1000"),
            on("2026-09-20T10:00:00Z", sold("e1", "early")),
            sold("f1", "forth", "10.05"),
        )
        shop.until(datetime(2026, 10, 12, 12, tzinfo=UTC))
        shop.record(sold("f2", "forth", "100"), fee("u12", "turn", "3"), sold("u13", "turn", "10"))
        shop.until(datetime(2026, 10, 25, 10, tzinfo=UTC))
        shop.write("/agencies/chg", agency("chg renamed", REVERSE, OF_NOVEMBER), seen=1)
        shop.write("/documents/owner", owner("Market N.V.", OF_NOVEMBER), seen=1)
        shop.record(fee("u25", "turn", "4"))
        shop.record(sold("c2", "chg"), sold("m2", "mid"), sold("f3", "forth", "10.02"), sold("n1", "nobody"))
        shop.until(datetime(2026, 11, 2, 1, tzinfo=UTC))
        shop.watch()
        shop.write("/agencies/big", agency("big", REVERSE, "2026-11-14T23:00:00Z"), seen=1)
        shop.until(datetime(2026, 11, 20, 12, tzinfo=UTC))
        of = {"currency": "EUR"}
        shop.record(
            on("2026-11-20T11:00:00Z", void("b2", "b1", agency="big", **of)),
            void("e2", "e1", agency="early", **of),
            sold("c3", "chg"),
            refund("u14", "-100", "u0", agency="turn", **of),
            refund("p5", "-20", "p2", agency="fees", **of),
            refund("p6", "-100", "p1", agency="fees", category="books", **of),
            adjustment("p7", "-1", "p2", agency="fees", **of),
            adjustment("p8", "-15", agency="fees", kind="chargeback_fee", **of),
        )
        shop.until(datetime(2026, 12, 2, 1, tzinfo=UTC))
        shop.watch()
        yield shop


def taxes(statement: dict[str, Any]) -> list[tuple[str | None, str, str]]:
    return [(row["scheme"], row["base"], row["tax"]) for row in statement["taxes"]]


def spans(statement: dict[str, Any]) -> list[list[tuple[str, str]]]:
    return [[(one["from"], one["to"]) for one in row["tax_points"]] for row in statement["taxes"]]


def test_a_registration_from_the_first_of_the_next_month_changes_nothing_of_this_one(sealed: Marketplace) -> None:
    october = sealed.statement(OCTOBER, "chg", "EUR")
    assert (october["commission"], october["tax"], october["payable"]) == ("20.00", "4.20", "24.20")
    assert taxes(october) == [("standard", "20.00", "4.20")]
    assert (october["customer"]["legal_name"], october["owner"]["legal_name"]) == ("chg", "Market B.V.")
    november = sealed.statement(NOVEMBER, "chg", "EUR")
    assert taxes(november) == [("reverse_charge", "10.00", "0.00")]
    assert (november["customer"]["legal_name"], november["owner"]["legal_name"]) == ("chg renamed", "Market N.V.")


def test_a_change_within_a_month_taxes_each_sale_by_its_date(sealed: Marketplace) -> None:
    october = sealed.statement(OCTOBER, "mid", "EUR")
    assert (october["commission"], october["tax"]) == ("20.00", "2.10")
    assert taxes(october) == [("standard", "10.00", "2.10"), ("reverse_charge", "10.00", "0.00")]
    assert spans(october) == [[("2026-10-05", "2026-10-05")], [("2026-10-25", "2026-10-25")]]


def test_a_void_gives_back_the_tax_that_its_sale_was_charged(sealed: Marketplace) -> None:
    october, november = (sealed.statement(period, "big", "EUR") for period in (OCTOBER, NOVEMBER))
    assert (october["commission"], october["tax"]) == ("100.00", "21.00")
    assert (november["commission"], november["tax"], november["closing"]) == ("-100.00", "-21.00", "0.00")
    assert (october["number"], november["number"]) == ("S-000001", "C-000001")
    assert (november["document"], spans(november)) == ("credit_note", [[("2026-10-05", "2026-10-05")]])


def test_a_void_is_marked_as_a_correction_of_the_month_of_its_sale_whatever_its_own_time(sealed: Marketplace) -> None:
    big, early = (sealed.statement(NOVEMBER, name, "EUR") for name in ("big", "early"))
    of_big = {"month": "2026-10", "lines": 1, "net": "-1000", "commission": "-100.00"}
    assert big["earlier_months"] == [of_big]
    assert [one["month"] for one in early["earlier_months"]] == ["2026-09"]
    assert sealed.statement(NOVEMBER, "chg", "EUR")["earlier_months"] == []
    assert [line["tax_point"] for line in sealed.lines(NOVEMBER, "big", "EUR")] == ["2026-10-05"]


def test_a_sale_from_before_the_first_period_is_given_back_with_the_tax_of_its_date(sealed: Marketplace) -> None:
    november = sealed.statement(NOVEMBER, "early", "EUR")
    assert taxes(november) == [("standard", "-10.00", "-2.10")]
    assert spans(november) == [[("2026-09-20", "2026-09-20")]]
    assert "early" not in {row["agency"] for row in sealed.listed(OCTOBER)}


def test_a_profile_that_changes_back_and_forth_is_rounded_once_for_each_tax(sealed: Marketplace) -> None:
    october = sealed.statement(OCTOBER, "forth", "EUR")
    assert october["commission_exact"] == "12.0070"
    assert taxes(october) == [("standard", "2.01", "0.42"), ("reverse_charge", "10.00", "0.00")]
    assert spans(october)[0] == [("2026-10-05", "2026-10-05"), ("2026-10-25", "2026-10-25")]
    assert (october["commission"], october["tax"]) == ("12.01", "0.42")


def test_a_draft_of_an_agency_without_a_profile_names_the_first_date_without_one(sealed: Marketplace) -> None:
    draft = sealed.world.read("/drafts/nobody/EUR/2026-10")
    messages = {one["check"]: one["message"] for one in draft["checks"]}
    assert messages["tax"] == "the agency has no tax profile on 2026-10-25: register one valid from then on"
    assert taxes(draft["statement"]) == [(None, "10.00", "0.00")]
    assert "nobody" not in {row["agency"] for row in sealed.listed(OCTOBER)}


def test_an_agency_is_taxed_by_kind_of_adjustment_by_category_and_else_at_its_own_rate(sealed: Marketplace) -> None:
    """S7: a chargeback fee of 15.00 beside commissions of 10.00 and, on books, 5.00."""
    october = sealed.statement(OCTOBER, "fees", "EUR")
    assert taxes(october) == [
        ("standard", "10.00", "2.10"),
        ("standard", "5.00", "0.45"),
        ("outside_scope", "15.00", "0.00"),
    ]
    assert [row["tax_points"] for row in october["taxes"]] == [
        [{"from": "2026-10-05", "to": "2026-10-05"}],
        [{"from": "2026-10-05", "to": "2026-10-05", "category": "books"}],
        [{"from": "2026-10-05", "to": "2026-10-05", "kind": "chargeback_fee"}],
    ]
    assert [october[name] for name in ("opening", "commission", "tax", "closing")] == ["4", "30.00", "2.55", "36.55"]


def test_a_correction_gives_back_the_tax_of_the_category_of_its_sale_whatever_it_names(sealed: Marketplace) -> None:
    """Refunds of 20 of the books and of all else, which names books; an adjustment of the books; the fee is waived."""
    november = sealed.statement(NOVEMBER, "fees", "EUR")
    assert taxes(november) == [
        ("standard", "-10.00", "-2.10"),
        ("standard", "-3.00", "-0.27"),
        ("outside_scope", "-15.00", "0.00"),
    ]
    found = {line["id"]: (line["category"], line["kind"]) for line in sealed.lines(NOVEMBER, "fees", "EUR")}
    assert found == {
        "p5": ("books", ""),
        "p6": ("", ""),
        "p7": ("books", ""),
        "p8": ("", "chargeback_fee"),
    }


def test_a_kind_that_only_one_of_three_profiles_names_is_taxed_by_it_on_its_days_alone(sealed: Marketplace) -> None:
    """Fees of 1.004 on 1, 2 and 5 October, of 3 and a commission of 1 on 12 October, and a fee of 4 on 25 October."""
    october = sealed.statement(OCTOBER, "turn", "EUR")
    assert taxes(october) == [
        ("standard", "4.01", "0.84"),  # 3.012 and 1, rounded once
        ("outside_scope", "3.00", "0.00"),
        ("reverse_charge", "4.00", "0.00"),
    ]
    of_fees = {"kind": "chargeback_fee"}
    assert [row["tax_points"] for row in october["taxes"]] == [
        [
            {"from": "2026-10-01", "to": "2026-10-05", **of_fees},
            {"from": "2026-10-12", "to": "2026-10-12"},
        ],
        [{"from": "2026-10-12", "to": "2026-10-12", **of_fees}],
        [{"from": "2026-10-25", "to": "2026-10-25", **of_fees}],
    ]


def test_a_sale_of_the_day_before_the_first_period_is_given_back_by_the_profile_of_that_day(
    sealed: Marketplace,
) -> None:
    """Sold on 30 September, one minute before midnight in Amsterdam, and refunded after two changes of the profile."""
    november = sealed.statement(NOVEMBER, "turn", "EUR")
    assert taxes(november) == [("standard", "-10.00", "-2.10")]
    assert november["earlier_months"] == [{"month": "2026-09", "lines": 1, "net": "-100", "commission": "-10.00"}]


def test_the_statements_and_their_taxes_are_proven_by_the_files_alone(sealed: Marketplace) -> None:
    objects = sealed.files("")
    found = verify(opening(objects), objects)
    assert found.problems == []
    assert found.statements == len(sealed.listed(OCTOBER)) + len(sealed.listed(NOVEMBER))


def test_a_preview_is_taxed_as_of_its_last_day_or_today(sealed: Marketplace) -> None:
    sealed.record(sold("c9", "chg"))
    sealed.world.drain()
    found = sealed.world.read("/statements/chg/EUR/2026-12")
    assert found["opening"] == sealed.statement(NOVEMBER, "chg", "EUR")["closing"]
    today = {"from": "2026-12-02", "to": "2026-12-02"}
    (row,) = found["taxes"]
    assert (row["scheme"], row["base"], row["tax_points"]) == ("reverse_charge", "10.00", [today])


def test_an_agency_that_moves_is_taxed_by_the_country_the_vat_id_and_the_ground_of_each_tax_point() -> None:
    """Germany to 14 October, France from the 15th on: each row says which, and the XML the id that owes the tax."""
    german = {**agency("mover", {"scheme": "standard", "percent": "19"}), "language": "de"}
    ground = {"reason": "Article 283-2 du CGI", "reason_code": "VATEX-EU-AE"}
    french = {**german, "country": "FR", "language": "fr", "valid_from": "2026-10-14T22:00:00Z"}
    french["tax"] = {**REVERSE, "vat_id": "FR40303265045", **ground}
    with opened(AMSTERDAM, start=datetime(2026, 10, 5, 10, tzinfo=UTC)) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", owner("Market GmbH") | {"country": "DE", "vat_id": "DE136695976"})
        shop.write("/agencies/mover", german)
        shop.write("/agencies/mover", french, seen=1)
        shop.record(sold("m1", "mover"))
        shop.until(datetime(2026, 10, 20, 10, tzinfo=UTC))
        shop.record(sold("m2", "mover", "200"))
        shop.until(datetime(2026, 11, 2, 1, tzinfo=UTC))
        shop.watch()
        found = shop.statement(OCTOBER, "mover", "EUR")
        names = ("scheme", "country", "vat_id", "reason", "base", "tax")
        assert [[row[name] for name in names] for row in found["taxes"]] == [
            ["standard", "DE", "DE136695976", None, "10.00", "1.90"],
            ["reverse_charge", "FR", "FR40303265045", ground["reason"], "20.00", "0.00"],
        ]
        folder = statement_prefix(OCTOBER, Account("mover", "EUR"))
        xml, page = (shop.read(folder + name).decode() for name in ("statement.xml", "statement.html"))
        assert ground["reason"] in xml
        assert ground["reason"] in page
        assert "DE136695976" in page
        objects = shop.files("")
        assert verify(opening(objects), objects).problems == []


# ---------------------------------------------------------------- who collects


@pytest.fixture(scope="module")
def collected() -> Iterator[Marketplace]:
    """October to December: the marketplace collects for one agency, and for another in November alone."""
    with opened(AMSTERDAM, start=datetime(2026, 10, 5, 10, tzinfo=UTC)) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", owner("Market B.V."))
        by_marketplace = {"collects": "marketplace"}
        shop.write("/agencies/paid", agency("paid", STANDARD_21) | by_marketplace)
        shop.write("/agencies/turns", agency("turns", STANDARD_21))
        shop.write("/agencies/turns", agency("turns", STANDARD_21, OF_NOVEMBER) | by_marketplace, seen=1)
        of_december = "2026-11-30T23:00:00Z"
        shop.write("/agencies/turns", agency("turns", STANDARD_21, of_december) | {"collects": "agency"}, seen=2)
        shop.record(sold("s1", "paid", "100.005"), sold("t1", "turns"))
        shop.until(datetime(2026, 11, 2, 1, tzinfo=UTC))
        shop.watch()
        shop.write("/documents/owner", owner("Market N.V.", "2026-11-15T00:00:00Z"), seen=1)
        shop.record(payment("o1", "-87.90", agency="paid", currency="EUR"))
        shop.record(void("v1", "s1", agency="paid", currency="EUR"), sold("t2", "turns", "200"))
        shop.until(datetime(2026, 12, 2, 1, tzinfo=UTC))
        shop.watch()
        shop.record(sold("s3", "paid", "50"), sold("t3", "turns", "50"))
        shop.world.drain()
        yield shop


def flow(statement: dict[str, Any]) -> list[str]:
    names = ("opening", "net", "commission", "tax", "proceeds", "payments", "closing")
    return [statement["collects"], *(statement[name] for name in names)]


def test_a_marketplace_that_collects_owes_the_net_sales_less_commission_and_tax(collected: Marketplace) -> None:
    """A sale of 100.005 at 10 %: 100.00 is owed, less 10.00 and 2.10. It is paid out, and then the sale is voided."""
    october, november = (collected.statement(period, "paid", "EUR") for period in (OCTOBER, NOVEMBER))
    assert flow(october) == ["marketplace", "0", "100.005", "10.00", "2.10", "100.00", "0", "-87.90"]
    voided = ["-100.005", "-10.00", "-2.10", "-100.00"]
    assert flow(november) == ["marketplace", "-87.90", *voided, "-87.90", "87.90"]
    assert [one["owner"]["legal_name"] for one in (october, november)] == ["Market B.V.", "Market N.V."]


def test_a_statement_has_the_proceeds_of_the_sales_whose_money_the_marketplace_collected(
    collected: Marketplace,
) -> None:
    october, november = (collected.statement(period, "turns", "EUR") for period in (OCTOBER, NOVEMBER))
    assert flow(october) == ["agency", "0", "100", "10.00", "2.10", "0.00", "0", "12.10"]
    assert flow(november) == ["marketplace", "12.10", "200", "20.00", "4.20", "200.00", "0", "-163.70"]


def test_a_preview_and_a_balance_have_the_proceeds_of_what_is_on_no_statement(collected: Marketplace) -> None:
    preview = collected.world.read("/statements/paid/EUR/2026-12")
    assert [preview[name] for name in ("opening", "proceeds", "closing")] == ["87.90", "50.00", "43.95"]
    balance = collected.world.read("/accounts/paid/EUR/balance")
    assert (balance["collects"], float(balance["balance"])) == ("marketplace", 43.95)
    assert {name: float(text) for name, text in balance["unbilled"].items()} == {
        "commission": 5.0,
        "tax": 1.05,
        "proceeds": 50.0,
        "payments": 0.0,
    }
    turned = collected.world.read("/accounts/turns/EUR/balance")
    assert (turned["collects"], float(turned["balance"]), turned["unbilled"]["proceeds"]) == ("agency", -157.65, "0.00")
    assert collected.world.read("/statements/turns/EUR/2026-12")["proceeds"] == "0.00"


@pytest.fixture(scope="module")
def switched() -> Iterator[tuple[Marketplace, dict[str, Any]]]:
    """Two agencies with a sale on either side of 15 October, when who collects changes; the first is refunded later."""
    with opened(AMSTERDAM, start=datetime(2026, 10, 5, 10, tzinfo=UTC)) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", owner("Market B.V."))
        middle, paid_to = "2026-10-14T22:00:00Z", {"collects": "marketplace", "iban": "DE89370400440532013000"}
        for name, before, after in (("a2m", {}, paid_to), ("m2a", paid_to, {})):
            shop.write(f"/agencies/{name}", agency(name, STANDARD_21) | before)
            shop.write(f"/agencies/{name}", agency(name, STANDARD_21, middle) | after, seen=1)
            shop.record(sold(f"{name}1", name, "1000"))
        shop.until(datetime(2026, 10, 20, 10, tzinfo=UTC))
        for name in ("a2m", "m2a"):
            late = on("2026-10-14T12:00:00Z", sold(f"{name}0", name, "0.10"))
            shop.record(sold(f"{name}2", name, "500"), late)
        shop.world.drain()
        before = {name: shop.world.read(f"/accounts/{name}/EUR/balance") for name in ("a2m", "m2a")}
        shop.until(datetime(2026, 11, 2, 1, tzinfo=UTC))
        shop.watch()
        shop.record(
            *(refund(f"{name}r", "-1000", of=f"{name}1", agency=name, currency="EUR") for name in ("a2m", "m2a"))
        )
        shop.world.drain()
        yield shop, before


def test_who_collects_is_a_fact_of_each_line_and_a_correction_follows_its_sale(
    switched: tuple[Marketplace, dict[str, Any]],
) -> None:
    """1500.10 at 10 % and 21 %: 150.01 and 31.50, less the proceeds of either side."""
    shop, live = switched
    a2m, m2a = (shop.statement(OCTOBER, name, "EUR") for name in ("a2m", "m2a"))
    charged = ["0", "1500.10", "150.01", "31.50"]
    assert flow(a2m) == ["marketplace", *charged, "500.00", "0", "-318.49"]
    assert flow(m2a) == ["agency", *charged, "1000.10", "0", "-818.59"]
    before, after = {"from": "2026-10-05", "to": "2026-10-14"}, {"from": "2026-10-20", "to": "2026-10-20"}
    assert a2m["collected"] == [
        {"by": "agency", "net": "1000.10", "tax_points": [before]},
        {"by": "marketplace", "net": "500", "tax_points": [after]},
    ]
    assert m2a["customer"]["iban"] == "DE89370400440532013000"
    assert live["a2m"]["unbilled"]["proceeds"] == "500.00"
    assert live["m2a"]["unbilled"]["proceeds"] == "1000.10"
    for name, proceeds in (("a2m", "0.00"), ("m2a", "-1000.00")):
        assert shop.world.read(f"/statements/{name}/EUR/2026-11")["proceeds"] == proceeds
        assert shop.world.read(f"/accounts/{name}/EUR/balance")["unbilled"]["proceeds"] == proceeds


def test_a_past_balance_splits_its_lines_by_who_collected_them(switched: tuple[Marketplace, Any]) -> None:
    shop, live = switched
    at = [shop.world.read(f"/accounts/{name}/EUR/balance", at="2026-10-31T12:00:00Z") for name in live]
    assert [one["unbilled"]["proceeds"] for one in at] == ["500.00", "1000.10"]


def test_what_a_marketplace_owes_is_proven_by_the_files_alone(
    collected: Marketplace, switched: tuple[Marketplace, Any]
) -> None:
    for shop in (collected, switched[0]):
        objects = shop.files("")
        assert verify(opening(objects), objects).problems == []


# ---------------------------------------------------------------- rounding


@pytest.fixture(scope="module", params=["half-even", "half-up"])
def rounded(request: pytest.FixtureRequest) -> Iterator[tuple[str, Marketplace]]:
    """October and November of a sale with a commission of 1.025 and its void, in either rounding."""
    parameters = AMSTERDAM | {"rounding": request.param}
    with opened(parameters, start=datetime(2026, 10, 5, 10, tzinfo=UTC)) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", owner("Market B.V."))
        shop.write("/agencies/one", agency("one", {"scheme": "standard", "percent": "50"}))
        shop.record(sold("s", "one", "10.25"))
        shop.until(datetime(2026, 11, 2, 1, tzinfo=UTC))
        shop.watch()
        shop.record(void("v", "s", agency="one", currency="EUR"))
        yield request.param, shop


def test_a_preview_and_its_statement_round_half_a_cent_alike_and_a_void_cancels_its_sale(
    rounded: tuple[str, Marketplace],
) -> None:
    """Half to even, 1.025 is 1.02 and its tax of 50 % 0.51; half up, 1.03 and 0.515, which is 0.52."""
    rounding, shop = rounded
    commission, tax, closing = ("1.02", "0.51", "1.53") if rounding == "half-even" else ("1.03", "0.52", "1.55")
    october = shop.statement(OCTOBER, "one", "EUR")
    assert [october[name] for name in ("rounding", "commission", "tax", "closing")] == [
        rounding,
        commission,
        tax,
        closing,
    ]
    shop.world.drain()
    preview = shop.world.read("/statements/one/EUR/2026-11")
    shop.until(datetime(2026, 12, 2, 1, tzinfo=UTC))
    shop.watch()
    november = shop.statement(NOVEMBER, "one", "EUR")
    for found in (preview, november):
        assert [found[name] for name in ("commission", "tax", "closing")] == [f"-{commission}", f"-{tax}", "0.00"]
    objects = shop.files("")
    assert verify(opening(objects), objects).problems == []
