"""Numbers, times, templates, formulas and conditions of a CSV map."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.file_formats.csv.cells import CleanUp, TimeForm, amount_test, cell_test, formula, template
from quarterhour.file_formats.csv.errors import CellError, EmptyCellError
from quarterhour.file_formats.csv.numbers import NumberForm
from tests.support.cases import cases

LONDON = TimeForm(ZoneInfo("Europe/London"))
GERMAN = NumberForm(decimal=",", thousands=".")
decimals = st.decimals(-(10**14), 10**14, places=4)


def test_local_time_becomes_utc_by_the_offset_of_its_season() -> None:
    assert LONDON.utc("2011-01-15 12:00") == datetime(2011, 1, 15, 12, tzinfo=UTC)
    assert LONDON.utc("2011-06-15 12:00") == datetime(2011, 6, 15, 11, tzinfo=UTC)


def test_a_time_with_an_offset_needs_no_zone() -> None:
    assert LONDON.utc("2011-06-15T12:00+05:30") == datetime(2011, 6, 15, 6, 30, tzinfo=UTC)


def test_a_time_that_the_clocks_skipped_is_refused_or_moved_forward_by_the_gap() -> None:
    with pytest.raises(CellError, match="does not exist"):
        LONDON.utc("2011-03-27 01:30")
    shifting = TimeForm(LONDON.zone, gap="shift")
    assert shifting.utc("2011-03-27 01:30") == datetime(2011, 3, 27, 1, 30, tzinfo=UTC)
    assert shifting.utc("2011-03-27 02:30") == datetime(2011, 3, 27, 1, 30, tzinfo=UTC)


@pytest.mark.parametrize(("choice", "hour"), [("earlier", 0), ("later", 1)])
def test_a_time_that_the_clocks_showed_twice_is_the_one_chosen(choice: str, hour: int) -> None:
    form = TimeForm(LONDON.zone, ambiguous=choice)
    assert form.utc("2010-10-31 01:30") == datetime(2010, 10, 31, hour, 30, tzinfo=UTC)


def test_a_time_that_the_clocks_showed_twice_can_be_refused() -> None:
    with pytest.raises(CellError, match="twice"):
        TimeForm(LONDON.zone, ambiguous="reject").utc("2010-10-31 01:30")


@given(
    st.integers(315_532_800, 1_893_456_000),
    st.sampled_from(["Europe/London", "America/Sao_Paulo", "Australia/Lord_Howe", "Asia/Kathmandu"]),
)
def test_every_instant_survives_the_way_through_local_time(seconds: int, name: str) -> None:
    zone = ZoneInfo(name)
    instant = datetime.fromtimestamp(seconds, UTC)
    local = instant.astimezone(zone)
    form = TimeForm(zone, ambiguous="later" if local.fold else "earlier")
    assert form.utc(local.replace(tzinfo=None).isoformat()) == instant


def test_formats_are_tried_in_order() -> None:
    form = TimeForm(ZoneInfo("UTC"), formats=("%d/%m/%Y", "iso"))
    assert form.utc("03/04/2011") == datetime(2011, 4, 3, tzinfo=UTC)
    assert form.utc("2011-04-03") == datetime(2011, 4, 3, tzinfo=UTC)
    with pytest.raises(CellError, match=r"'4\.3\.2011' is not a time of the form %d/%m/%Y or iso"):
        form.utc("4.3.2011")


def test_days_back_are_days_of_the_calendar_not_of_24_hours() -> None:
    assert LONDON.utc("2011-03-28", Decimal(2)) == datetime(2011, 3, 26, tzinfo=UTC)
    assert LONDON.utc("2011-03-28") - LONDON.utc("2011-03-28", Decimal(1)) == timedelta(hours=23)


@pytest.mark.parametrize("days", ["0.5", "99999999", "9" * 30])
def test_days_back_beyond_sense_are_refused(days: str) -> None:
    with pytest.raises(CellError):
        LONDON.utc("2011-03-28", Decimal(days))


@given(st.dictionaries(st.text("abc: #.!", min_size=1), st.text(min_size=1), min_size=2))
def test_a_template_puts_cells_between_its_literals(cells: dict[str, str]) -> None:
    first, second, *_ = cells
    compiled = template(f"<{{{first}}}|{{{second}}}>")
    assert compiled.columns == {first, second}
    assert compiled.value(cells) == f"<{cells[first]}|{cells[second]}>"


def test_one_empty_column_leaves_a_template_without_value() -> None:
    with pytest.raises(EmptyCellError, match="city is empty"):
        template("BR#{state}#{city}").value({"state": "SP", "city": ""})


@pytest.mark.parametrize("text", ["", "{", "a}", "{}", "{a}{", "{{a}}"])
def test_a_template_with_a_stray_brace_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="columns in braces"):
        template(text)


@given(decimals, decimals, decimals)
def test_a_formula_is_exact_and_binds_as_arithmetic_does(a: Decimal, b: Decimal, c: Decimal) -> None:
    cells = {"a": f"{a:f}", "b b": f"{b:f}", "c": f"{c:f}"}
    value = formula("-{a}*2 - ({b b} + 0.5) + {c}", NumberForm()).value(cells)
    assert value == -a * 2 - (b + Decimal("0.5")) + c


@given(decimals, decimals)
def test_a_product_keeps_every_digit_and_the_scale(a: Decimal, b: Decimal) -> None:
    product = formula("{a} * {b}", NumberForm()).value({"a": f"{a:f}", "b": f"{b:f}"})
    assert Fraction(product) == Fraction(a) * Fraction(b)
    assert product.as_tuple().exponent == -8


def test_zero_carries_no_sign() -> None:
    cells = {"quantity": "-3", "price": "0.00"}
    assert str(formula("{quantity} * {price}", NumberForm()).value(cells)) == "0.00"
    assert str(formula("-{price}", NumberForm()).value(cells)) == "0.00"


def test_a_product_beyond_38_digits_is_refused_rather_than_rounded() -> None:
    with pytest.raises(CellError, match="38 digits"):
        formula("{a} * {a}", NumberForm()).value({"a": "1" * 20})


@pytest.mark.parametrize(
    ("text", "value"),
    [("(" * 48 + "{a} + {a}" + ")" * 48, "2"), ("-" * 99 + "{a}", "-1"), ("{a}" + " + 1" * 49, "50")],
)
def test_a_formula_has_up_to_a_hundred_columns_numbers_and_signs(text: str, value: str) -> None:
    assert str(formula(text, NumberForm()).value({"a": "1"})) == value
    with pytest.raises(ValueError, match="at most 100"):
        formula(f"{text} + 1 + 1", NumberForm())


def test_a_formula_names_the_column_that_is_no_number() -> None:
    with pytest.raises(CellError, match=r"price is 'free', not a number of the form 1\.234,56"):
        formula("{price}", GERMAN).value({"price": "free"})


@cases("text", ["", "{a", "{a} {b}", "{a} / 2", "{a} *", "({a}", "a", "1,5", "2 ** 3", "()"])
def test_a_text_that_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="must be a formula"):
        formula(text, NumberForm())


def test_a_cell_is_stripped_cut_and_then_looked_at_for_emptiness() -> None:
    clean = CleanUp(cut_prefix="C-", cut_suffix=".0", empty=frozenset({"NULL"}), default="nobody")
    assert [clean(cell) for cell in (" C-17850.0 ", "17850.00", "NULL", "C-NULL", " ", "C-")] == [
        "17850",
        "17850.00",
        "nobody",
        "nobody",
        "nobody",
        "nobody",
    ]
    assert CleanUp(strip=False)(" a ") == " a "


@pytest.mark.parametrize(
    ("operation", "operand", "cell", "holds"),
    [
        ("equals", "A1", "A1", True),
        ("equals", "A", "A1", False),
        ("equals", "", "", True),
        ("prefix", "C", "C536", True),
        ("prefix", "C", "536C", False),
        ("matches", "[0-9]{2}", "A12", True),
        ("matches", "^[0-9]{2}$", "A12", False),
    ],
)
def test_a_condition_on_a_cell(operation: str, operand: str, cell: str, holds: bool) -> None:  # noqa: FBT001 - a table's column
    assert cell_test("invoice", operation, operand).value({"invoice": cell}) is holds


@given(st.sampled_from(["-0.01", "0", "0.00", "7"]))
def test_a_condition_on_the_amount_looks_at_its_sign(text: str) -> None:
    amount = Decimal(text)
    held = [sign for sign in ("<", "<=", "=", ">=", ">") if amount_test(f"{sign} 0")(amount)]
    assert held == (["<", "<="] if amount < 0 else [">=", ">"] if amount > 0 else ["<=", "=", ">="])


@pytest.mark.parametrize("comparison", ["negative", "< 1", "<0", "!= 0", ""])
def test_an_amount_is_compared_with_zero_alone(comparison: str) -> None:
    with pytest.raises(ValueError, match="compared with 0"):
        amount_test(comparison)
