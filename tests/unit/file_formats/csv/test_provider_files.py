"""Files of providers in their documented layouts: which rows are events, which a rule leaves out, and which are bad."""

import io
from decimal import Decimal
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.file_formats.csv.errors import FileError, MapError
from quarterhour.file_formats.csv.events import converted
from quarterhour.file_formats.csv.guess import Given, guess
from quarterhour.file_formats.csv.lines import numbered
from quarterhour.file_formats.csv.map import load_map
from quarterhour.file_formats.csv.parts import FileConversion, convert_part
from quarterhour.file_formats.csv.seen import seen_rows
from quarterhour.file_formats.csv.table import BadRow, read_table
from quarterhour.file_formats.item_key import key_of
from quarterhour_tools.csv.maps import read_map
from tests.support.cases import cases
from tests.support.repository import ROOT

EXPORTS: Final = ROOT / "tests" / "support" / "exports"
SALE, REFUND, ADJUSTMENT = "sale.recorded", "sale.refunded", "adjustment.recorded"
SETTINGS: Final = {"agency": "42", "currency": "EUR", "zone": "Europe/Berlin"}

Found = list[tuple[str, str, str, str, str]]


def outcomes(name: str, text: str, **given: str) -> tuple[Found, list[BadRow]]:
    mapping = load_map(read_map(name))
    table = read_table(numbered(io.StringIO(text, newline="")), mapping.file, mapping.used_by)
    rows = list(converted(table, mapping, {one: SETTINGS[one] for one in mapping.settings} | given))
    shown = [of_body(event.body) for row in rows for event in row.events]
    return shown, [BadRow(row.line, row.bad) for row in rows if row.bad]


def of_body(body: dict[str, Any]) -> tuple[str, str, str, str, str]:
    data = body["data"]
    return body["id"], body["type"], body["time"], data.get("amount", ""), data["currency"]


def export(name: str) -> str:
    return (EXPORTS / name).read_text("utf-8")


def test_the_balance_of_stripe_has_every_category_as_an_event_or_a_named_exclusion() -> None:
    found, bad = outcomes("stripe", export("stripe_balance.csv"))
    assert [(one[0], one[1], one[3], one[4]) for one in found] == [
        ("txn_1", SALE, "100.00", "EUR"),
        ("txn_2", REFUND, "-40.00", "EUR"),
        ("txn_3", SALE, "80.00", "USD"),
        ("txn_4", REFUND, "-10.00", "EUR"),
        ("txn_5", ADJUSTMENT, "10.00", "EUR"),
        ("txn_6", REFUND, "-80.00", "USD"),
        ("txn_7", ADJUSTMENT, "80.00", "USD"),
        ("txn_8", SALE, "15.00", "EUR"),
        ("txn_9", REFUND, "-15.00", "EUR"),
    ]
    assert [one.line for one in bad][-1] == 16, "a charge that takes money"


def test_a_payment_of_stripe_gives_its_sale_its_refunds_and_a_dispute_that_is_not_won() -> None:
    text = export("stripe_payments.csv")
    found, _ = outcomes("stripe_payments", text)
    beside, _ = outcomes("stripe_payments", text, webhooks="yes")
    assert beside == [one for one in found if not one[0].endswith(":refund")], "the webhooks have them one by one"
    assert found == [
        ("ch_1", SALE, "2026-10-01T08:00:00Z", "90.00", "EUR"),
        ("ch_2", SALE, "2026-10-02T08:00:00Z", "1070.00", "USD"),
        ("ch_2:refund", REFUND, "2026-10-20T09:30:00Z", "-70.00", "USD"),
        ("ch_3", SALE, "2026-10-03T08:00:00Z", "30.00", "EUR"),
        ("ch_3:refund", REFUND, "2026-11-01T00:00:00Z", "-30.00", "EUR"),
        ("ch_4", SALE, "2026-10-04T08:00:00Z", "55.00", "EUR"),
        ("ch_4:dispute", REFUND, "2026-10-25T12:00:00Z", "-55.00", "EUR"),
        ("ch_5", SALE, "2026-10-05T08:00:00Z", "44.00", "EUR"),
    ]


@cases(
    ("language", "hours"),
    [("english", "17"), ("german", "08"), ("french", "08"), ("spanish", "08"), ("italian", "08")],
)
def test_the_activity_of_paypal_is_read_in_its_languages_by_the_direction_of_money(language: str, hours: str) -> None:
    found, bad = outcomes("paypal", export(f"paypal_{language}.csv"))
    assert found == [
        ("T1", SALE, f"2026-10-01T{hours}:15:00Z", "1250.00", "EUR"),
        ("T2", SALE, f"2026-10-02T{hours}:15:00Z", "55.00", "USD"),
        ("T3", REFUND, f"2026-10-03T{hours}:15:00Z", "-20.00", "EUR"),
        ("T4", REFUND, f"2026-10-04T{hours}:15:00Z", "-55.00", "USD"),
        ("T5", ADJUSTMENT, f"2026-10-13T{hours}:15:00Z", "55.00", "USD"),
    ]
    assert bad == []


def test_dates_of_paypal_with_the_day_first_have_a_map_of_their_own() -> None:
    found, bad = outcomes("paypal_day_first", export("paypal_day_first.csv"))
    assert (len(found), bad) == (5, [])
    assert found[0] == ("T1", SALE, "2026-10-01T09:15:00Z", "1250.00", "EUR")
    _, bad = outcomes("paypal_day_first", export("paypal_english.csv"))
    assert bad, "the zone is of the United States, where the month comes first"


def test_the_orders_of_shopify_are_items_with_their_share_of_the_orders_amounts() -> None:
    text = export("shopify_orders.csv")
    found, bad = outcomes("shopify_orders", text)
    oak, elm, ash, print_, other, bag = (
        f"{order}:{key_of(item)}"
        for order, item in [
            ("551", ("P-1", "Print", "Oak Studio")),
            ("551", ("P-1", "Print", "Elm Press")),
            ("551", ("C-1", "Card", "Ash Works")),
            ("552", ("P-1", "Print", "Oak Studio")),
            ("552", ("C-1", "Card", "Elm Press")),
            ("553", ("B-1", "Bag", "Elm Press")),
        ]
    )
    assert [(one[0], one[1], one[3], one[4]) for one in found] == [
        (oak, SALE, "30.00", "USD"),
        (f"{oak}:refund", REFUND, "-3.00", "USD"),
        (elm, SALE, "29.99", "USD"),
        (f"{elm}:refund", REFUND, "-3.00", "USD"),
        (ash, SALE, "30.01", "USD"),
        (f"{ash}:refund", REFUND, "-3.00", "USD"),
        (print_, SALE, "500", "JPY"),
        (other, SALE, "499", "JPY"),
        (bag, SALE, "20.00", "USD"),
        (f"{bag}:refund", REFUND, "-20.00", "USD"),
    ]
    assert found[-1][2] == "2026-11-02T13:00:00Z", "a refund counts when the order was cancelled"
    assert [one.line for one in bad] == [12]
    beside, bad = outcomes("shopify_orders", text, webhooks="yes")
    assert [one[0] for one in beside] == [bag], "discounts and refunds of a whole order are left to the webhooks"
    assert [one.line for one in bad] == [12]


@pytest.mark.parametrize("size", [900, 1500, 2500, 4000])
def test_an_order_that_a_part_would_cut_is_left_to_the_next_part(size: int) -> None:
    content, mapping = export("shopify_orders.csv").encode(), load_map(read_map("shopify_orders"))
    place, at, longer, found = None, 0, size, []
    with seen_rows() as seen:
        while place or not at:
            last = at + longer >= len(content)
            try:
                part = convert_part(content[at : at + longer], FileConversion(mapping, {}, seen), place, last=last)
            except (FileError, MapError):
                assert not last
                longer += size
                continue
            found += [of_body(one.body) for one in part.events]
            place, at, longer = part.next, at + part.read, size
    assert found == outcomes("shopify_orders", export("shopify_orders.csv"))[0]


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=30).filter(any),
    st.integers(0, 10**8),
    st.sampled_from([("EUR", 2), ("JPY", 0), ("BHD", 3)]),
)
def test_the_shares_of_an_order_add_up_to_its_amount(
    weights: list[int], amount: int, currency: tuple[str, int]
) -> None:
    code, digits = currency
    whole = Decimal(amount).scaleb(-digits)
    rows = "".join(f"{'' if number else whole},{weight},{number}\n" for number, weight in enumerate(weights))
    toml = (
        '[columns.sum]\nfill_down = "order"\n[shares]\nwithin = "order"\n[shares.net]\nof = "{sum}"\nby = "{weight}"\n'
        f'currency = "{code}"\n[[event]]\nid = "{{order}}:{{row}}"\nsource = "s"\nsubject = "1"\n'
        f'type = "sale.recorded"\ndata = {{ amount = "{{net}}", currency = "{code}" }}\n'
    )
    mapping = load_map(toml)
    text = "order,sum,weight,number\n" + "".join(f"a,{row}\n" for row in rows.splitlines()) + "b,5,1,0\n"
    table = read_table(numbered(io.StringIO(text, newline="")), mapping.file, mapping.used_by)
    made = [Decimal(event.body["data"]["amount"]) for one in converted(table, mapping) for event in one.events]
    assert sum(made) == whole + 5
    for weight, part in zip(weights, made, strict=False):
        assert abs(part - whole * weight / sum(weights)) <= Decimal(1).scaleb(-digits)


def test_a_settlement_of_mollie_has_payments_refunds_chargebacks_and_what_takes_them_back() -> None:
    found, _ = outcomes("mollie", export("mollie.csv"))
    assert [(one[0], one[1], one[3], one[4]) for one in found] == [
        ("tr_1", SALE, "100.00", "EUR"),
        ("tr_2", SALE, "1050.00", "USD"),
        ("re_3", REFUND, "-20.00", "EUR"),
        ("chb_4", REFUND, "-1050.00", "USD"),
        ("chb_4:back", ADJUSTMENT, "1050.00", "USD"),
        ("cpt_5", SALE, "30.00", "EUR"),
        ("re_3:back", ADJUSTMENT, "20.00", "EUR"),
    ]
    assert found[0][2] == "2026-10-01T08:12:00Z"


def test_the_reports_of_woocommerce_have_orders_or_items_and_what_was_refunded() -> None:
    orders, _ = outcomes("woocommerce", export("woocommerce.csv"))
    assert orders == [
        ("1001", SALE, "2026-10-01T08:15:00Z", "47", "EUR"),
        ("1002", SALE, "2026-10-02T08:15:00Z", "1204.5", "EUR"),
        ("1001:refund:2026-10-20 09:00:00", REFUND, "2026-10-20T07:00:00Z", "-16", "EUR"),
    ]
    items, bad = outcomes("woocommerce_items", export("woocommerce_items.csv"))
    assert items == [
        ("1001:101", SALE, "2026-10-01T08:15:00Z", "28.92", "EUR"),
        ("1001:101:refund", REFUND, "2026-10-01T08:15:00Z", "-16.00", "EUR"),
        ("1001:102", SALE, "2026-10-01T08:15:00Z", "18.08", "EUR"),
    ]
    assert bad == []


@pytest.mark.parametrize("kind", ["Levitation", "Rückgabe"])
def test_a_type_that_paypal_does_not_document_is_no_event(kind: str) -> None:
    found, _ = outcomes("paypal", export("paypal_english.csv").replace("Mobile Payment", kind))
    assert "T2" not in {one[0] for one in found}


RECOGNISED: Final = {
    "adyen.csv": "adyen",
    "amazon.txt": "amazon",
    "amazon_comma.txt": "amazon",
    "mollie.csv": "mollie",
    **{f"paypal_{language}.csv": "paypal" for language in ("english", "german", "french", "spanish", "italian")},
    "paypal_day_first.csv": "paypal_day_first",
    "shopify.csv": "shopify",
    "shopify_orders.csv": "shopify_orders",
    "stripe_balance.csv": "stripe",
    "stripe_payments.csv": "stripe_payments",
    "woocommerce.csv": "woocommerce",
    "woocommerce_items.csv": "woocommerce_items",
}


@pytest.mark.parametrize("name", sorted(RECOGNISED))
def test_a_file_is_recognised_and_its_proposal_gives_what_the_map_gives(name: str) -> None:
    text = export(name)
    proposal, what = guess(numbered(io.StringIO(text, newline="")), Given(name), encoding=None, encoding_in_doubt=False)
    assert what.shipped == [RECOGNISED[name]]
    assert f'like = "{RECOGNISED[name]}"\n' in proposal
    assert load_map(proposal).settings == load_map(read_map(RECOGNISED[name])).settings
    mapping = load_map(proposal)
    table = read_table(numbered(io.StringIO(text, newline="")), mapping.file, mapping.used_by)
    assert list(converted(table, mapping, {one: SETTINGS[one] for one in mapping.settings}))
    answered = load_map(what.toml(answered=True))
    assert not answered.settings, "an answer in the map needs no --set"


def test_dates_that_fit_two_maps_are_a_question() -> None:
    lines = export("paypal_english.csv").replace("PDT", "GMT").splitlines(keepends=True)
    text = "".join(line for line in lines if "10/13/" not in line)
    proposal, what = guess(
        numbered(io.StringIO(text, newline="")), Given("p.csv"), encoding=None, encoding_in_doubt=False
    )
    assert what.shipped == ["paypal", "paypal_day_first"]
    assert 'like = "?" # QUESTION: "paypal" or "paypal_day_first"' in proposal
