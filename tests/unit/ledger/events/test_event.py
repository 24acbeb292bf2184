"""The schema of billing events: valid and invalid CloudEvents, and their digests."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, Literal
from unicodedata import normalize

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.events.event import DETAILS, MAX_EXTRA_BYTES, PARTS, Event, Rejection, read_event
from quarterhour.model import exact_json, fields
from quarterhour.model.fields import MAX_PROBLEMS
from quarterhour.model.identifiers import Account, Identity
from tests.support import events
from tests.support.builders import accounts, amounts, data, event, identities, payment, sale, sale_of, void
from tests.support.cases import cases
from tests.support.events import ABSENT
from tests.support.names import near

NAME = "1 to 200 printable characters without '#', and no blank at either end"
TEXT = "1 to 200 printable characters"
AMOUNT = "a decimal of at most 38 digits, as a string or a number"
TYPES = "one of sale.recorded, sale.refunded, sale.voided, adjustment.recorded, payment.recorded, view.recorded"
CURRENCY = "an ISO 4217 code such as EUR"
DATA = "an object with amount and currency"
SHARE = "a decimal from 0 to 1"
INSTANT = "an RFC 3339 instant such as 2026-10-23T01:30:00Z"
NO_INSTANT = ", which names no day and time of the years 1 to 9999"
JSON = '"application/json", or another type of JSON such as "application/vnd.shop+json"'
EXTRA = "an object of at most 4096 bytes as JSON"
KNOWN_IN_DATA = ", ".join(sorted(["amount", "currency", "commission_rate", *DETAILS, *PARTS]))
PLACE = "a path such as GB#London without an empty part"


def extra_of(size: int) -> dict[str, str]:
    """Return an extra of ``size`` bytes as JSON."""
    return {"note": "x" * (size - len('{"note":""}'))}


def nested(levels: int) -> dict[str, object]:
    """Return objects nested ``levels`` deep."""
    inner: dict[str, object] = {}
    for _ in range(levels):
        inner = {"in": inner}
    return inner


def read(item: object) -> Event:
    found = read_event(item)
    assert isinstance(found, Event), found
    return found


def problems(item: object) -> list[tuple[str, str, str]]:
    found = read_event(item)
    assert isinstance(found, Rejection), found
    return [(one.field, one.problem, one.expected) for one in found.problems]


BAD = {
    "no specversion": (sale(specversion=ABSENT), "specversion", "is missing", '"1.0"'),
    "specversion 0.3": (sale(specversion="0.3"), "specversion", "is '0.3'", '"1.0"'),
    "specversion as a number": (sale(specversion=Decimal("1.0")), "specversion", "is 1.0", '"1.0"'),
    "no id": (sale(id=ABSENT), "id", "is missing", NAME),
    "id null": (sale(id=None), "id", "is missing", NAME),
    "id of 0 characters": (sale(id=""), "id", "is ''", NAME),
    "id of 201 characters": (sale(id="x" * 201), "id", "is '" + "x" * 59 + "... (201 characters)", NAME),
    "id of 300 characters": (sale(id="x" * 300), "id", "is '" + "x" * 59 + "... (300 characters)", NAME),
    "id with the separator": (sale(id="a#b"), "id", "is 'a#b'", NAME),
    "id with a line break": (sale(id="a\nb"), "id", "is 'a\\nb'", NAME),
    "id with a zero byte": (sale(id="a\0b"), "id", "is 'a\\x00b'", NAME),
    "id with half a character": (sale(id="\ud800"), "id", "is '\\ud800'", NAME),
    "id with an invisible character": (sale(id="a\u200bb"), "id", "is 'a\\u200bb'", NAME),
    "id as a number": (sale(id=Decimal(1)), "id", "is 1", NAME),
    "id as a list": (sale(id=["a", "b"]), "id", "is a list of 2", NAME),
    "no source": (sale(source=ABSENT), "source", "is missing", NAME),
    "source with the separator": (sale(source="shop#1"), "source", "is 'shop#1'", NAME),
    "no type": (sale(type=ABSENT), "type", "is missing", TYPES),
    "type that does not exist": (sale(type="sale.deleted"), "type", "is 'sale.deleted'", TYPES),
    "type as an object": (sale(type={}), "type", "is an object of 0", TYPES),
    "no agency": (sale(subject=ABSENT), "subject", "is missing", f"the agency: {NAME}"),
    "agency with the separator": (sale(subject="42#GBP"), "subject", "is '42#GBP'", f"the agency: {NAME}"),
    "source with a blank before it": (sale(source=" shop"), "source", "is ' shop'", NAME),
    "source with a blank after it": (sale(source="shop "), "source", "is 'shop '", NAME),
    "id with a blank before it": (sale(id=" 1"), "id", "is ' 1'", NAME),
    "id with a blank after it": (sale(id="1 "), "id", "is '1 '", NAME),
    "id of a blank": (sale(id=" "), "id", "is ' '", NAME),
    "agency with a blank before it": (sale(subject=" 42"), "subject", "is ' 42'", f"the agency: {NAME}"),
    "agency with a blank after it": (sale(subject="42 "), "subject", "is '42 '", f"the agency: {NAME}"),
    "agency of 300 characters": (
        sale(subject="é" * 300),
        "subject",
        "is '" + ("\\xe9" * 15)[:59] + "... (300 characters)",
        f"the agency: {NAME}",
    ),
    "time without an offset": (sale(time="2026-10-23T01:30:00"), "time", "is '2026-10-23T01:30:00'", INSTANT),
    "time that is a date": (sale(time="2026-10-23"), "time", "is '2026-10-23'", INSTANT),
    "time of no day": (sale(time="2026-02-29T00:00:00Z"), "time", f"is '2026-02-29T00:00:00Z'{NO_INSTANT}", INSTANT),
    "time of no leap second": (
        sale(time="2016-12-31T22:59:60Z"),
        "time",
        "is '2016-12-31T22:59:60Z', which has the second 60, which only ends 30 June and 31 December, at 23:59:60 UTC",
        INSTANT,
    ),
    "time in another ISO form": (sale(time="20261023T013000Z"), "time", "is '20261023T013000Z'", INSTANT),
    "time of an impossible offset": (
        sale(time="2026-10-23T01:30:00+25:00"),
        "time",
        "is '2026-10-23T01:30:00+25:00'",
        INSTANT,
    ),
    "time before the calendar": (
        sale(time="0001-01-01T00:00:00+01:00"),
        "time",
        f"is '0001-01-01T00:00:00+01:00'{NO_INSTANT}",
        INSTANT,
    ),
    "time as a number": (sale(time=Decimal(1792719000)), "time", "is 1792719000", INSTANT),
    "another content": (sale(datacontenttype="text/xml"), "datacontenttype", "is 'text/xml'", JSON),
    "no data": (sale(data=ABSENT), "data", "is missing", DATA),
    "empty data": (sale(data={}), "data", "is an object of 0", DATA),
    "data as text": (sale(data="12.50 GBP"), "data", "is not an object", DATA),
    "data as a list": (sale(data=[{}]), "data", "is not an object", DATA),
    "no amount": (sale_of(amount=ABSENT), "data.amount", "is missing", AMOUNT),
    "amount null": (sale_of(amount=None), "data.amount", "is missing", AMOUNT),
    "amount as a word": (sale_of(amount="twelve"), "data.amount", "is 'twelve'", AMOUNT),
    "amount with a comma": (sale_of(amount="12,50"), "data.amount", "is '12,50'", AMOUNT),
    "amount with its currency": (sale_of(amount="£12.50"), "data.amount", "is '\\xa312.50'", AMOUNT),
    "amount in scientific text": (sale_of(amount="1e3"), "data.amount", "is '1e3'", AMOUNT),
    "amount NaN": (sale_of(amount=exact_json.NOT_A_NUMBER), "data.amount", "is not a finite number", AMOUNT),
    "amount NaN as text": (sale_of(amount="NaN"), "data.amount", "is 'NaN'", AMOUNT),
    "amount true": (sale_of(amount=True), "data.amount", "is true", AMOUNT),
    "amount of 39 digits": (sale_of(amount="1" * 39), "data.amount", f"is '{'1' * 39}'", AMOUNT),
    "amount of 39 digits as a number": (sale_of(amount=Decimal("1" * 39)), "data.amount", f"is {'1' * 39}", AMOUNT),
    "amount of 39 digits by its exponent": (sale_of(amount=Decimal("1E+38")), "data.amount", "is 1E+38", AMOUNT),
    "amount of 39 digits by its scale": (sale_of(amount=Decimal("1E-38")), "data.amount", "is 1E-38", AMOUNT),
    "amount of a million digits": (
        sale_of(amount="1" * 1_000_000),
        "data.amount",
        "is '" + "1" * 59 + "... (1000000 characters)",
        AMOUNT,
    ),
    "negative sale": (sale_of(amount="-0.01"), "data.amount", "is -0.01", "0 or more, as it is a sale"),
    "positive refund": (
        sale(type="sale.refunded"),
        "data.amount",
        "is 12.50",
        "0 or less, as it is a refund",
    ),
    "no currency": (sale_of(currency=ABSENT), "data.currency", "is missing", CURRENCY),
    "currency that does not exist": (sale_of(currency="ABC"), "data.currency", "is 'ABC'", CURRENCY),
    "currency in small letters": (sale_of(currency="gbp"), "data.currency", "is 'gbp'", CURRENCY),
    "gold": (sale_of(currency="XAU"), "data.currency", "is 'XAU'", CURRENCY),
    "no currency's own code": (sale_of(currency="XXX"), "data.currency", "is 'XXX'", CURRENCY),
    "rate in percent": (sale_of(commission_rate="12.5"), "data.commission_rate", "is '12.5'", SHARE),
    "rate below 0": (sale_of(commission_rate="-0.1"), "data.commission_rate", "is '-0.1'", SHARE),
    "rate with a percent sign": (sale_of(commission_rate="12%"), "data.commission_rate", "is '12%'", SHARE),
    "rate that makes the commission too long": (
        sale_of(amount="1" * 38, commission_rate="0.11"),
        "data.commission_rate",
        "gives a commission of more than 38 digits",
        "fewer digits in commission_rate or amount",
    ),
    "empty category": (sale_of(category=""), "data.category", "is ''", TEXT),
    "category of 201 characters": (
        sale_of(category="p" * 201),
        "data.category",
        "is '" + "p" * 59 + "... (201 characters)",
        TEXT,
    ),
    "order with a zero-width blank": (
        sale_of(order_id="a\u200bb"),
        "data.order_id",
        "is 'a\\u200bb'",
        TEXT,
    ),
    "quantity as a word": (sale_of(quantity="six"), "data.quantity", "is 'six'", AMOUNT),
    "unit price NaN": (
        sale_of(unit_price=exact_json.NOT_A_NUMBER),
        "data.unit_price",
        "is not a finite number",
        AMOUNT,
    ),
    "customer as an object": (sale_of(customer={"id": "7"}), "data.customer", "is an object of 1", TEXT),
    "order id as a number": (sale_of(order_id=Decimal(1)), "data.order_id", "is 1", TEXT),
    "line that is no whole number": (
        sale_of(line=Decimal("1.5")),
        "data.line",
        "is 1.5",
        f"{TEXT}, or a whole number",
    ),
    "line NaN": (
        sale_of(line=exact_json.NOT_A_NUMBER),
        "data.line",
        "is not a finite number",
        f"{TEXT}, or a whole number",
    ),
    "location with an empty part": (sale_of(location="GB##London"), "data.location", "is 'GB##London'", PLACE),
    "location with a line break": (sale_of(location="GB\nLondon"), "data.location", "is 'GB\\nLondon'", PLACE),
    "location that ends open": (sale_of(location="GB#"), "data.location", "is 'GB#'", PLACE),
    "reference with the separator": (
        sale_of(refers_to="shop#1"),
        "data.refers_to",
        "is 'shop#1'",
        f"the id of the sale: {NAME}",
    ),
    "reference to itself": (
        sale_of(refers_to="order-1"),
        "data.refers_to",
        "is the event itself",
        "the id of the sale",
    ),
    "extra of 4097 bytes": (sale_of(extra=extra_of(4097)), "data.extra", "has 4097 bytes as JSON", EXTRA),
    "extra of 683 characters that JSON writes in six bytes each": (
        sale_of(extra={"n": "€" * 683}),
        "data.extra",
        "has 4106 bytes as JSON",
        EXTRA,
    ),
    "extra as text": (sale_of(extra="gift"), "data.extra", "is 'gift'", EXTRA),
    "extra as a list": (sale_of(extra=["gift"]), "data.extra", "is a list of 1", EXTRA),
    "extra with NaN": (
        sale_of(extra={"x": [exact_json.NOT_A_NUMBER]}),
        "data.extra",
        "holds a number that is not finite",
        EXTRA,
    ),
    "extra 33 levels deep": (
        sale_of(extra=nested(33)),
        "data.extra",
        "is nested too deeply, more than 32 levels",
        EXTRA,
    ),
    "field of the data at the top": (sale(amount="12.50"), "amount", "is a field of data", "data.amount"),
    "unknown field in the data": (
        sale_of(price="12.50"),
        "data.price",
        "is not known",
        f"one of {KNOWN_IN_DATA}; put your own into data.extra",
    ),
    "tax of another sign": (sale_of(tax="-1"), "data.tax", "is -1", "a part of the amount, 12.50, with its sign"),
    "more tax than there is amount": (
        sale_of(tax="12.51"),
        "data.tax",
        "is 12.51",
        "at most the amount, 12.50, together",
    ),
    "more tax and shipping than there is amount": (
        sale_of(tax="10", shipping="2.51"),
        "data.tax",
        "are 12.51",
        "at most the amount, 12.50, together",
    ),
    "shipping that is no number": (sale_of(shipping="free"), "data.shipping", "is 'free'", AMOUNT),
    "view without a customer": (
        sale(type="view.recorded", data={"product": "p"}),
        "data.customer",
        "is missing",
        TEXT,
    ),
}


@cases(("item", "field", "problem", "expected"), BAD.values(), ids=BAD)
def test_an_invalid_event_is_rejected_with_field_problem_and_expectation(
    item: object, field: str, problem: str, expected: str
) -> None:
    assert problems(item) == [(field, problem, expected)]


@pytest.mark.parametrize("item", [None, "sale", Decimal(1), True, [], [sale()]], ids=repr)
def test_an_item_that_is_no_object_is_rejected(item: object) -> None:
    assert problems(item) == [("", "is not a JSON object", "a CloudEvent")]


def test_a_rejection_names_every_problem_of_an_item() -> None:
    item = sale(id="a#b", time="now", Colour="red", data=data(amount="x", currency=ABSENT, quantity="six", price="1"))
    assert [field for field, _, _ in problems(item)] == [
        "Colour",
        "id",
        "time",
        "data.price",
        "data.amount",
        "data.currency",
        "data.quantity",
    ]


def test_a_view_has_no_money_fields() -> None:
    item = sale(type="view.recorded", data=data(customer="c", commission_rate="0.1"))
    assert [field for field, _, _ in problems(item)] == ["data.amount", "data.commission_rate", "data.currency"]


def test_the_name_of_an_unknown_field_is_shown_short_and_printable() -> None:
    ((field, _, _),) = problems(sale(**{"\n" + "x" * 300: 1}))
    assert field == "\\n" + "x" * 58 + "... (301 characters)"


def test_a_rejection_names_source_and_id_where_they_are_readable() -> None:
    assert read_event(sale_of(amount="x")) == Rejection("shop", "order-1", read_event(sale_of(amount="x")).problems)  # type: ignore[union-attr]
    for sent, shown in ((ABSENT, None), (Decimal(7), None), ("x" * 300, "x" * 200), ("a#b", "a#b")):
        found = read_event(sale(id=sent))
        assert isinstance(found, Rejection)
        assert (found.source, found.id) == ("shop", shown)


# ---------------------------------------------------------------- valid events


def test_a_sale_is_read_into_values() -> None:
    read_ = read(sale(time="2026-10-23T03:30:00+02:00", data=data(commission_rate="0.125", product="tea", line="1")))
    assert read_ == Event(
        Identity("shop", "order-1"),
        "sale.recorded",
        Account("42", "GBP"),
        Decimal("12.50"),
        Decimal("0.125"),
        datetime(2026, 10, 23, 1, 30, tzinfo=UTC),
        {"product": "tea", "line": "1"},
    )


@given(identity=identities, account=accounts)
def test_names_may_be_any_printable_text_without_the_separator(identity: Identity, account: Account) -> None:
    item = sale(id=identity.id, source=identity.source, subject=account.agency, data=data(currency=account.currency))
    assert (read(item).identity, read(item).account) == (identity, account)


@cases(
    "name",
    ["x" * 200, "é" * 200, "日本", "🛒", "a/b?c=d&e%20f", "../..", "'\"\\", "=1+1", "a b", "0", "null"],
)
def test_awkward_names_are_kept_as_they_are(name: str) -> None:
    read_ = read(sale(id=name, source=name, subject=name))
    assert (read_.identity, read_.account) == (Identity(name, name), Account(name, "GBP"))


@given(amounts())
def test_an_amount_is_read_exactly_from_text_or_a_number(amount: Decimal) -> None:
    for sent in (f"{amount:f}", amount):
        assert read(sale(type="adjustment.recorded", data=data(amount=sent))).amount.as_tuple() == amount.as_tuple()


@pytest.mark.parametrize(
    ("type_", "amount"),
    [
        ("sale.recorded", "0"),
        ("sale.recorded", "-0.00"),
        ("sale.recorded", "9" * 38),
        ("sale.refunded", "0"),
        ("sale.refunded", "-" + "9" * 38),
        ("adjustment.recorded", "-0.0000001"),
        ("adjustment.recorded", "0.0000001"),
    ],
)
def test_an_amount_at_the_limit_of_its_type_is_valid(type_: str, amount: str) -> None:
    assert read(sale(type=type_, data=data(amount=amount))).amount == Decimal(amount)


@pytest.mark.parametrize(("number", "amount"), [("1e3", "1000"), ("1.20E2", "120"), ("0.10", "0.10"), ("5", "5")])
def test_a_json_number_is_read_digit_for_digit(number: str, amount: str) -> None:
    text = f'{{"amount": {number}, "currency": "GBP"}}'
    assert read(sale(data=exact_json.parse(text))).amount == Decimal(amount)


@cases(
    ("time", "instant"),
    [
        ("2026-10-23T01:30:00Z", "2026-10-23T01:30:00+00:00"),
        ("2026-10-23t01:30:00z", "2026-10-23T01:30:00+00:00"),
        ("2026-10-23 01:30:00Z", "2026-10-23T01:30:00+00:00"),
        ("2026-10-23T01:30:00.5Z", "2026-10-23T01:30:00.500000+00:00"),
        ("2026-10-23T01:30:00.123456789Z", "2026-10-23T01:30:00.123456+00:00"),
        ("2026-10-23T01:30:00-00:00", "2026-10-23T01:30:00+00:00"),
        ("2026-10-23T07:15:00+05:45", "2026-10-23T01:30:00+00:00"),
        ("2026-10-22T14:30:00-11:00", "2026-10-23T01:30:00+00:00"),
        ("1906-01-01T00:00:00Z", "1906-01-01T00:00:00+00:00"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59+00:00"),
    ],
)
def test_a_time_of_any_offset_or_age_is_read_in_utc(time: str, instant: str) -> None:
    read_ = read(sale(time=time))
    assert read_.time is not None
    assert read_.time.isoformat() == instant


@cases(
    ("name", "sent", "kept"),
    [
        ("product", "p" * 200, "p" * 200),
        ("quantity", Decimal("1E+2"), "100"),
        ("quantity", "-6", "-6"),
        ("unit_price", "2.0833", "2.0833"),
        ("customer", "=cmd|' /C calc'!A0", "=cmd|' /C calc'!A0"),
        ("order_id", "№ 5", "№ 5"),
        ("line", Decimal(3), "3"),
        ("line", Decimal("1E+1"), "10"),
        ("line", "3a", "3a"),
        ("location", "GB", "GB"),
        ("location", "GB#Greater London#Soho", "GB#Greater London#Soho"),
        ("refers_to", "order-0", "order-0"),
        ("extra", {"b": Decimal("1.50"), "a": [None, True]}, '{"a":[null,true],"b":1.50}'),
        ("extra", {}, "{}"),
        ("extra", extra_of(4096), '{"note":"' + "x" * (4096 - 11) + '"}'),
    ],
)
def test_an_optional_fact_is_kept_as_text(name: str, sent: object, kept: str) -> None:
    assert read(sale_of(**{name: sent})).details == {name: kept}


def test_an_optional_fact_that_is_null_is_omitted() -> None:
    read_ = read(sale(time=None, datacontenttype=None, data=data(commission_rate=None, **dict.fromkeys(DETAILS))))
    assert read_ == read(sale())


def test_the_size_of_an_extra_is_that_of_its_stored_text() -> None:
    assert len(read(sale_of(extra=extra_of(MAX_EXTRA_BYTES))).details["extra"]) == MAX_EXTRA_BYTES


@pytest.mark.parametrize("rate", ["0", "1", "0.125", "0." + "0" * 30 + "1", Decimal("1.000")])
def test_a_commission_rate_from_0_to_1_is_valid(rate: object) -> None:
    assert read(sale_of(commission_rate=rate)).commission_rate == Decimal(str(rate))


@pytest.mark.parametrize("kind", ["application/json", "application/json; charset=utf-8", "application/json;x=y"])
def test_the_content_type_of_json_data_may_be_named(kind: str) -> None:
    assert read(sale(datacontenttype=kind)) == read(sale())


def test_a_view_has_the_amount_0_in_no_currency() -> None:
    view = read(sale(type="view.recorded", data={"customer": "c7", "product": "tea"}))
    assert (view.account, view.amount, view.commission_rate) == (Account("42", "XXX"), Decimal(0), Decimal(0))
    assert view.details == {"customer": "c7", "product": "tea"}


@pytest.mark.parametrize(
    ("type_", "details", "sale"),
    [
        ("sale.refunded", {"refers_to": "order-0"}, ("shop", "order-0")),
        ("sale.refunded", {"refers_to": "order-0", "refers_to_source": "till"}, ("till", "order-0")),
        ("sale.refunded", {"refers_to": "event", "refers_to_source": "till"}, ("till", "event")),
        ("sale.refunded", {}, None),
        ("adjustment.recorded", {"refers_to": "order-0"}, ("shop", "order-0")),
        ("adjustment.recorded", {}, None),
        ("sale.recorded", {"refers_to": "order-0"}, None),
    ],
)
def test_a_correction_that_refers_to_a_sale_is_linked_to_it(
    type_: str, details: dict[str, str], sale: tuple[str, str] | None
) -> None:
    amount = "1" if type_ == "sale.recorded" else "-1"
    assert event("event", type_, amount=amount, **details).linked_to == (Identity(*sale) if sale else None)


def test_a_void_refers_to_its_sale_with_a_reason_and_names_no_amount() -> None:
    voided = void(of="order-0", refers_to_source="till", line="3")
    assert (voided.linked_to, voided.amount, voided.account) == (
        Identity("till", "order-0"),
        Decimal(0),
        Account("42", "GBP"),
    )
    assert voided.details["reason"] == "sold twice"
    assert voided.commission_rate is voided.commission is None


@cases(
    ("changed", "field", "problem"),
    [
        ({"of": ABSENT}, "data.refers_to", "is missing"),
        ({"reason": ABSENT}, "data.reason", "is missing"),
        ({"reason": " "}, "data.reason", "is ' '"),
        ({"currency": "gold"}, "data.currency", "is 'gold'"),
        ({"of": "v1"}, "data.refers_to", "is the event itself"),
        ({"of": "v1", "refers_to_source": "shop"}, "data.refers_to", "is the event itself"),
        ({"amount": "-1"}, "data.amount", "is given, though a void reverses what is left of its sale"),
        ({"commission": "-1"}, "data.commission", "is given, though a void reverses what is left of its sale"),
        (
            {"commission_rate": "0.1"},
            "data.commission_rate",
            "is given, though a void reverses what is left of its sale",
        ),
        ({"price": "1"}, "data.price", "is not known"),
    ],
)
def test_a_void_that_is_none_is_rejected(changed: dict[str, Any], field: str, problem: str) -> None:
    read = read_event(events.void(**changed))
    assert isinstance(read, Rejection)
    assert [(one.field, one.problem) for one in read.problems] == [(field, problem)]


@pytest.mark.parametrize("amount", ["0.01", "-0.01", "9" * 38])
def test_a_payment_of_either_sign_has_no_commission(amount: str) -> None:
    paid = payment(amount=amount, reason="transfer 8", extra={"bank": "N26"})
    assert (paid.amount, paid.account, paid.commission_rate) == (Decimal(amount), Account("42", "GBP"), Decimal(0))
    assert paid.details == {"reason": "transfer 8", "extra": '{"bank":"N26"}'}
    assert paid.linked_to is None
    assert payment(amount=amount, kind="bad_debt").details == {"kind": "bad_debt"}


@pytest.mark.parametrize(
    ("amount", "currency"), [("10", "EUR"), ("10.5", "EUR"), ("-10.05", "EUR"), ("10.005", "KWD"), ("100", "JPY")]
)
def test_a_payment_has_at_most_the_decimal_places_of_its_currency(amount: str, currency: str) -> None:
    assert payment(amount=amount, currency=currency).amount == Decimal(amount)


@pytest.mark.parametrize("type_", ["sale.recorded", "adjustment.recorded"])
def test_other_amounts_keep_any_scale(type_: str) -> None:
    assert str(event(type_=type_, amount="100.550", currency="JPY").amount) == "100.550"


NO_SALE = "is given, though a payment is no sale"
SIGNED = "above 0 if the agency paid, below 0 if it was paid"


@cases(
    ("changed", "field", "problem", "expected"),
    [
        ({"amount": "0"}, "data.amount", "is 0", SIGNED),
        ({"amount": "-0.00"}, "data.amount", "is 0.00", SIGNED),
        ({"amount": ABSENT}, "data.amount", "is missing", AMOUNT),
        ({"amount": "1,5"}, "data.amount", "is '1,5'", AMOUNT),
        ({"amount": "10.005", "currency": "EUR"}, "data.amount", "is 10.005", "at most 2 decimal places, as EUR has"),
        ({"amount": "-10.000"}, "data.amount", "is -10.000", "at most 2 decimal places, as GBP has"),
        ({"amount": "1.0005", "currency": "KWD"}, "data.amount", "is 1.0005", "at most 3 decimal places, as KWD has"),
        ({"amount": "100.5", "currency": "JPY"}, "data.amount", "is 100.5", "a whole number, as of JPY"),
        ({"currency": "XXX"}, "data.currency", "is 'XXX'", CURRENCY),
        ({"currency": ABSENT}, "data.currency", "is missing", CURRENCY),
        ({"reason": " "}, "data.reason", "is ' '", f"{TEXT}, not all of them blanks"),
        ({"price": "1"}, "data.price", "is not known", "one of "),
        ({"kind": "Fee"}, "data.kind", "is 'Fee'", fields.KIND),
        ({"kind": "opening"}, "data.kind", "is opening, which only an adjustment is", "what stands in place of money"),
        *(
            ({name: value}, f"data.{name}", NO_SALE, f"no {name}")
            for name, value in {
                "commission_rate": "0.1",
                "commission": "1",
                "refers_to": "order-1",
                "product": "tea",
                "quantity": "2",
                "unit_price": "2",
                "customer": "ann",
                "order_id": "8",
                "line": "1",
                "location": "GB",
                "category": "books",
            }.items()
        ),
    ],
)
def test_a_payment_that_is_none_is_rejected(changed: dict[str, Any], field: str, problem: str, expected: str) -> None:
    ((found, why, right),) = problems(events.payment(**changed))
    assert (found, why) == (field, problem)
    assert right.startswith(expected)


def test_an_unknown_field_of_a_payment_is_rejected_with_the_fields_that_it_has() -> None:
    ((_, _, expected),) = problems(events.payment(price="1"))
    assert expected == "one of amount, currency, extra, kind, reason, statement; put your own into data.extra"


@pytest.mark.parametrize("type_", ["sale.recorded", "sale.refunded", "sale.voided", "adjustment.recorded"])
def test_only_a_payment_names_a_statement(type_: str) -> None:
    sent = sale(type=type_, data=data(statement="S-000001"))
    read = read_event(sent)
    assert isinstance(read, Rejection)
    assert ("data.statement", "is not known") in [(one.field, one.problem) for one in read.problems]
    paid = read_event(events.payment(statement="S-000001"))
    assert isinstance(paid, Event)
    assert paid.details == {"statement": "S-000001"}


@pytest.mark.parametrize("type_", ["sale.recorded", "view.recorded"])
@pytest.mark.parametrize("name", ["reason", "refers_to_source"])
def test_only_corrections_have_a_reason_and_refer_to_another_source(type_: str, name: str) -> None:
    figures = {"amount": ABSENT, "currency": ABSENT, "customer": "ann"} if type_ == "view.recorded" else {}
    read = read_event(sale(type=type_, data=data(refers_to="order-0", **figures, **{name: "till"})))
    assert isinstance(read, Rejection)
    assert [(one.field, one.problem) for one in read.problems] == [(f"data.{name}", "is not known")]


def test_the_source_of_a_sale_is_named_together_with_its_id() -> None:
    read = read_event(sale(type="adjustment.recorded", data=data(refers_to_source="till")))
    assert isinstance(read, Rejection)
    assert [(one.field, one.problem) for one in read.problems] == [
        ("data.refers_to_source", "is given without refers_to")
    ]


def test_the_reason_and_the_source_of_the_sale_are_part_of_the_content() -> None:
    digests = {
        refunded.digest
        for refunded in (
            event("r", "sale.refunded", amount="-1", refers_to="order-0", **details)
            for details in ({}, {"reason": "late"}, {"reason": "broken"}, {"refers_to_source": "till"})
        )
    }
    assert len(digests) == 4


# ---------------------------------------------------------------- digests


CHANGES: dict[str, Any] = {
    "type": sale(type="adjustment.recorded"),
    "agency": sale(subject="43"),
    "currency": sale_of(currency="EUR"),
    "amount": sale_of(amount="12.51"),
    "the amount's scale": sale_of(amount="12.500"),
    "rate": sale_of(commission_rate="0.10"),
    "time": sale(time="2026-10-23T01:30:00Z"),
    "commission": sale(type="adjustment.recorded", data=data(commission="1.50")),
    "another commission": sale(type="adjustment.recorded", data=data(commission="1.51")),
    "product": sale_of(product="tea"),
    "the same text as another fact": sale_of(category="tea"),
    "extra": sale_of(extra={"a": Decimal(1)}),
    "another extra": sale_of(extra={"a": "1"}),
}


def test_other_content_has_another_digest() -> None:
    digests = [read(item).digest for item in [sale(), *CHANGES.values()]]
    assert len(set(digests)) == len(digests)


@cases(
    ("first", "again"),
    [
        (sale(), dict(reversed(sale().items()))),
        (sale_of(amount="12.50"), sale_of(amount=Decimal("12.50"))),
        (sale_of(amount=Decimal("1E+1")), sale_of(amount="10")),
        (sale(time="2026-10-23T01:30:00Z"), sale(time="2026-10-23T03:30:00.000+02:00")),
        (sale(), sale(datacontenttype="application/json")),
        (sale(), sale(time=None)),
        (sale(), sale(dataschema="https://shop.example/sale", traceparent="00-1")),
        (sale(traceparent="00-1"), sale(traceparent="00-2", tracestate="a=1")),
        (
            sale_of(extra={"a": Decimal(1), "b": {"x": 1, "y": 2}}),
            sale_of(extra={"b": {"y": 2, "x": 1}, "a": Decimal(1)}),
        ),
        (sale_of(line=Decimal(3)), sale_of(line="3")),
    ],
)
def test_the_same_content_in_another_notation_has_the_same_digest(first: dict[str, Any], again: dict[str, Any]) -> None:
    assert read(first).digest == read(again).digest


@given(identities)
def test_the_digest_depends_on_the_content_alone(identity: Identity) -> None:
    assert read(sale(id=identity.id, source=identity.source)).digest == read(sale()).digest


@given(
    st.recursive(
        st.none() | st.booleans() | st.text() | st.decimals(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_any_json_is_an_event_or_rejected_with_problems(value: Any) -> None:
    names = ("specversion", "id", "source", "type", "subject", "time", "datacontenttype", "data")
    items = [value, *(sale(**{name: value}) for name in names), *(sale_of(**{name: value}) for name in DETAILS)]
    for item in items:
        found = read_event(item)
        assert isinstance(found, Event) or found.problems


def test_a_rejection_with_many_problems_names_the_first_and_counts_the_others() -> None:
    rejection = read_event({f"field_{number}": 1 for number in range(40_000)})
    assert isinstance(rejection, Rejection)
    assert len(rejection.problems) == MAX_PROBLEMS + 1
    assert rejection.problems[-1].problem == f"has {40_000 + 6 - MAX_PROBLEMS} more problems"


def test_a_name_that_0_1_0_took_is_taken_still() -> None:
    """A replacement character in a body is what its sender wrote: orders with it must be billed and refunded."""
    read = read_event(sale(id="a\ufffd", subject="b\ufffd"))
    assert isinstance(read, Event)
    assert (read.identity.id, read.account.agency) == ("a\ufffd", "b\ufffd")


@pytest.mark.parametrize(
    ("kind", "read_as"),
    [
        ("chargeback_fee", Event),
        ("x" * 50, Event),
        ("fee2", Event),
        ("x" * 51, Rejection),
        ("2fee", Rejection),
        ("fee-2", Rejection),
        ("fée", Rejection),
    ],
)
def test_a_kind_of_adjustment_has_up_to_50_lowercase_letters_digits_and_underscores(kind: str, read_as: type) -> None:
    assert isinstance(read_event(sale(type="adjustment.recorded", data=data(kind=kind))), read_as)


def test_an_adjustment_may_bring_a_balance_forward_and_no_other_event_may() -> None:
    adjusted = event("order-1", "adjustment.recorded", kind="opening")
    assert adjusted.details["kind"] == "opening"
    assert adjusted.digest != event("order-1", "adjustment.recorded").digest
    for type_, kind in (("adjustment.recorded", "Fee"), ("adjustment.recorded", ""), ("sale.recorded", "opening")):
        refused = read_event(sale(type=type_, data=data(kind=kind)))
        assert isinstance(refused, Rejection)
        assert [problem.field for problem in refused.problems] == ["data.kind"]


@cases("name", near("42"))
def test_a_rerating_applies_no_rate_card_of_an_agency_with_a_nearly_equal_name(name: str) -> None:
    good = read_event(events.rerating(version=Decimal(1)))
    assert isinstance(good, Event)
    for agency, rate_card in (("42", name), (name, "42")):
        refused = read_event(events.rerating(version=Decimal(1), agency=agency, rate_card=f"rate-card:{rate_card}"))
        assert isinstance(refused, Rejection)
        named = {problem.field for problem in refused.problems}
        assert named & {"subject", "data.rerating.rate_card"}, "an invalid name, or the rate card of another agency"


@pytest.mark.parametrize(
    ("sent", "shown"),
    [
        ("12 kg\u00a0Grieß", "12 kg Grieß"),
        ("京都\u3000駅", "京都 駅"),
        ("Prix\u202f: 7\n", "Prix : 7"),
        ("Schiff\u00adfahrt", "Schifffahrt"),
        ("\u202b\u05e9\u05dd\u200f", "\u05e9\u05dd"),
        ("\U0001fae9 pin \ud83d", "\U0001fae9 pin"),
        ("ن\u200cم", "ن\u200cم"),
        ("p" * 300, "p" * 200),
        ("\u200b", None),
        ("", None),
    ],
)
def test_a_product_never_keeps_a_sale_out(sent: str, shown: str | None) -> None:
    event = read_event(sale_of(product=sent))
    assert isinstance(event, Event)
    assert event.details.get("product") == shown


@given(st.text(min_size=1), st.sampled_from(["source", "id", "subject"]))
def test_two_forms_of_an_event_are_one_event(text: str, name: str) -> None:
    def read_in(form: Literal["NFC", "NFD"]) -> Event | Rejection:
        sent = normalize(form, text)
        facts = dict.fromkeys(("product", "category", "location", "order_id", "customer"), sent)
        item = sale_of(**facts, extra={"note": [sent], sent: sent}) | {name: sent}
        return read_event(exact_json.parse(exact_json.canonical(item)))

    assert read_in("NFC") == read_in("NFD")


def test_a_sale_of_its_time_has_a_withdrawn_currency() -> None:
    kuna = sale_of(currency="HRK") | {"time": "2021-03-05T10:00:00Z"}
    assert read(kuna).account.currency == "HRK"
    late = kuna | {"time": "2024-03-05T10:00:00Z"}
    expected = "a currency of 2024-03-05, the day of the event"
    assert problems(late) == [("data.currency", "is HRK, which was withdrawn in 2023-01", expected)]
    assert problems(sale_of(currency="HRK") | {"time": None})[0][:2] == ("data.currency", problems(late)[0][1])
    refunded = sale_of(currency="HRK", amount="-1", refers_to="o") | {"type": "sale.refunded", "time": late["time"]}
    assert read(refunded).account.currency == "HRK"
