"""The orders of a statement: sorted, with corrections below the sale that they correct."""

from decimal import Decimal

from quarterhour.ledger.events.event import PAYMENT, REFUND, SALE, VOID
from quarterhour.statements.drafts.orders import OrderLine, orders_of


def line(type_: str, id_: str, amount: str, **cells: str) -> OrderLine:
    """Return a line; ``cells``: its order, product, terms, and ``sale``, the id of what it corrects."""
    order, product, sale = (cells.get(name, "") for name in ("order", "product", "sale"))
    figures = Decimal(amount), Decimal(amount) / 10
    return OrderLine(type_, "", cells.get("terms", ""), "shop", id_, order, product, "", sale, *figures)


def shown(*lines: OrderLine) -> list[tuple[str | None, str | None, str, str | None, str]]:
    return [(one["order"], one["sale"], one["kind"], one["product"], one["net"]) for one in orders_of(lines)]


def test_orders_are_sorted_with_their_numbers_as_numbers_and_lines_of_no_order_come_last() -> None:
    lines = [line(SALE, f"s{n}", "1", order=order) for n, order in enumerate(("", "o-10", "o-9", "10", "9", "o-9"))]
    assert [row[0] for row in shown(*lines)] == ["9", "10", "o-9", "o-10", None]


def test_a_correction_has_the_order_and_the_product_of_its_sale_and_follows_it() -> None:
    assert shown(
        line(REFUND, "r1", "-2", sale="s1"),
        line(SALE, "s2", "7", order="o-2", product="lamp"),
        line(SALE, "s1", "5", order="o-1", product="chair"),
        line(VOID, "v1", "-7", sale="s2"),
    ) == [
        ("o-1", None, "sales", "chair", "5"),
        ("o-1", None, "refunds", "chair", "-2"),
        ("o-2", None, "sales", "lamp", "7"),
        ("o-2", None, "voids", "lamp", "-7"),
    ]


def test_a_void_of_a_refund_is_a_refund_of_the_order_of_the_sale() -> None:
    sold = line(SALE, "s1", "5", order="o-1", product="chair")
    refund, back = line(REFUND, "r1", "-2", sale="s1"), line(VOID, "v1", "2", sale="r1", terms="refund")
    assert shown(back, refund, sold) == [
        ("o-1", None, "sales", "chair", "5"),
        ("o-1", None, "refunds", "chair", "0"),
    ]
    assert shown(back, refund) == [(None, "s1", "refunds", None, "0")]
    assert shown(back) == [(None, "r1", "refunds", None, "2")]


def test_a_correction_of_a_sale_that_is_not_here_names_the_sale() -> None:
    assert shown(line(REFUND, "r1", "-2", sale="s1"), line(REFUND, "r2", "-1", order="o-1", sale="s1")) == [
        ("o-1", None, "refunds", None, "-1"),
        (None, "s1", "refunds", None, "-2"),
    ]


def test_a_sale_of_another_source_is_not_the_one_that_is_corrected() -> None:
    other = line(SALE, "s1", "5", order="o-1")._replace(source="outlet")
    refund = line(REFUND, "r1", "-2", sale="s1")
    assert shown(other, refund)[1] == (None, "s1", "refunds", None, "-2")
    assert shown(other, refund._replace(refers_to_source="outlet"))[1] == ("o-1", None, "refunds", None, "-2")


def test_payments_are_in_no_order() -> None:
    assert orders_of([line(PAYMENT, "p1", "5")]) == []
