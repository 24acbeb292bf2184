"""Charges by name: their text in a line, and their sums."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model import charges as module
from quarterhour.model.charges import Charges, charge_name, read_charges, write_charges

TIERS = "month/account/graduated/0=12/10000=10/50000=8"
NAMES = st.sampled_from(["commission", "payment fee", "Gebühr", "手数料", "2nd fee"])
FIGURES = st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**12), max_value=10**12).map(
    lambda value: value.copy_abs() if value.is_zero() else value
)
CHARGES = st.builds(
    Charges,
    st.dictionaries(NAMES, FIGURES),
    st.dictionaries(st.tuples(NAMES, st.sampled_from([TIERS, "year/group=a%20b/volume/0=5"])), FIGURES),
)


def test_the_text_of_a_commission_without_other_parts_is_empty() -> None:
    assert write_charges(Charges({"commission": Decimal("8.00")}, {})) == ""
    assert read_charges("", Decimal("8.00")) == Charges({"commission": Decimal("8.00")}, {})


def test_each_charge_is_an_entry_and_a_charge_with_tiers_has_its_turnover_and_definition() -> None:
    charges = Charges(
        {"commission": Decimal("8.00"), "payment fee": Decimal("-1.65")}, {("club", TIERS): Decimal("125.00")}
    )
    text = f"commission:8.00;payment fee:-1.65;club:125.00@{TIERS}"

    assert write_charges(charges) == text
    assert read_charges(text, Decimal("6.35")) == charges


@given(CHARGES)
def test_the_text_of_charges_gives_them_again(charges: Charges) -> None:
    if not charges.is_plain:
        assert read_charges(write_charges(charges), charges.commission) == charges


@pytest.mark.parametrize(
    "text",
    [
        "commission",
        "commission:",
        "commission:x",
        "commission:NaN",
        "commission:1;commission:0",
        ":1",
        "=fee:1",
        "commission:1;",
        "commission:1@",
        "a:1@x;a:2@x",
        "commission:1E+2",
    ],
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="are no charges of a line"):
        read_charges(text, Decimal(1))


def test_charges_that_are_not_the_commission_are_refused() -> None:
    with pytest.raises(ValueError, match="are not the commission, 2"):
        read_charges("fee:1", Decimal(2))


@given(st.lists(CHARGES))
def test_sums_are_by_name_and_by_definition(several: list[Charges]) -> None:
    summed = module.total(several)

    assert summed.commission == sum((one.commission for one in several), Decimal(0))
    assert module.total([*several, module.negated(summed)]).commission == 0
    for key in summed.turnover:
        assert summed.turnover[key] == sum((one.turnover.get(key, Decimal(0)) for one in several), Decimal(0))


@pytest.mark.parametrize(
    ("sent", "name"), [("payment fee", "payment fee"), (" payment\u00a0 fee ", "payment fee"), ("Cafe\u0301", "Café")]
)
def test_a_name_is_stored_in_one_form(sent: str, name: str) -> None:
    assert charge_name(sent) == name


@pytest.mark.parametrize(
    "sent",
    ["", " ", "-fee", "=fee", "\uff1dfee", "a:b", "a;b", "a=b", "a,b", "a@b", "a/b", 'a"b', "a'b", "a\u200bb", 5],
)
def test_a_name_that_would_break_the_text_of_a_line_or_begin_a_formula_is_refused(sent: object) -> None:
    assert charge_name(sent) is None
    assert charge_name("x" * 41) is None
