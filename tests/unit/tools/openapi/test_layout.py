"""How JSON is laid out for people."""

import json

from hypothesis import given
from hypothesis import strategies as st

from quarterhour_tools.openapi.layout import WIDTH, laid_out

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=30),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=10), inner),
    max_leaves=60,
)
FLAT = st.dictionaries(st.text("abc", min_size=1, max_size=10), st.text("xyz ", max_size=60), max_size=40)


@given(VALUES)
def test_what_is_laid_out_is_the_same_json(value: object) -> None:
    assert json.loads(laid_out(value)) == value


@given(FLAT)
def test_no_line_is_too_long(value: dict[str, str]) -> None:
    assert max(map(len, laid_out({"items": [value], "next": None}).splitlines())) <= WIDTH


def test_what_fits_on_a_line_is_on_one_line_and_plain_values_share_lines() -> None:
    agency = {"agency": "42", "currency": "GBP", "gross": "200.50", "refunds": "-20.00", "commission": "22.56250"}
    account = {**agency, "payments": "0", "net": "180.50", "trend": {"net": "up"}, "customers": 2}
    assert laid_out({"items": [account], "next": None}) == (
        "{\n"
        '  "items": [\n'
        "    {\n"
        '      "agency": "42", "currency": "GBP", "gross": "200.50", "refunds": "-20.00", "commission": "22.56250",\n'
        '      "payments": "0", "net": "180.50",\n'
        '      "trend": {"net": "up"},\n'
        '      "customers": 2\n'
        "    }\n"
        "  ],\n"
        '  "next": null\n'
        "}"
    )
