"""Numbers as files write them: read in the declared form alone, with an error that shows how to declare another."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.file_formats.csv.errors import CellError
from quarterhour.file_formats.csv.numbers import NEGATIVE_FORMS, NumberForm
from tests.support.cases import cases

GERMAN = NumberForm(decimal=",", thousands=".")
SETTLEMENT = NumberForm(",", ".", NEGATIVE_FORMS, {"€": "EUR", "EUR": "EUR", "£": "GBP"})
decimals = st.decimals(-(10**14), 10**14, places=4)


def written(number: Decimal, form: NumberForm) -> str:
    swap = {",": form.thousands, ".": form.decimal}
    return "".join(swap.get(character, character) for character in f"{number:,f}")


@given(decimals, st.sampled_from([NumberForm(), GERMAN, NumberForm(",", " "), NumberForm(".", "'")]))
def test_a_number_written_in_a_form_is_read_back_exactly(number: Decimal, form: NumberForm) -> None:
    assert form.number(written(number, form)) == number


@cases("text", ["1.5", "1.50,5", "1,234,5", "12.34.567", "", "-", ",", "1e3", "NaN", "1 000", "٣"])
def test_a_number_out_of_form_is_refused_rather_than_guessed(text: str) -> None:
    with pytest.raises(CellError):
        GERMAN.number(text)


@pytest.mark.parametrize(
    ("text", "number"), [("+1", "1"), (",5", "0.5"), ("5,", "5"), ("1234", "1234"), ("-1.234,50", "-1234.50")]
)
def test_common_spellings_of_a_number_are_read(text: str, number: str) -> None:
    assert GERMAN.number(text) == Decimal(number)


def test_a_number_of_more_than_38_digits_is_refused() -> None:
    assert NumberForm().number("9" * 38) == 10**38 - 1
    with pytest.raises(CellError):
        NumberForm().number("9" * 39)


@cases(
    ("text", "number", "currency"),
    [
        ("1.259,80 €", "1259.80", "EUR"),
        ("1.259,80\N{NO-BREAK SPACE}€", "1259.80", "EUR"),
        ("EUR 12,00", "12.00", "EUR"),
        ("£12", "12", "GBP"),
        ("-£12", "-12", "GBP"),
        ("£-12", "-12", "GBP"),
        ("(12,00)", "-12.00", None),
        ("(12,00 €)", "-12.00", "EUR"),
        ("€ (12,00)", "-12.00", "EUR"),
        ("12,00-", "-12.00", None),
        ("12,00- €", "-12.00", "EUR"),
        ("\N{MINUS SIGN}12,00", "-12.00", None),
        ("12,00\N{MINUS SIGN}", "-12.00", None),
        ("€12 EUR", "12", "EUR"),
    ],
)
def test_signs_of_currencies_and_all_forms_of_negative_numbers_are_read(
    text: str, number: str, currency: str | None
) -> None:
    read = SETTLEMENT.read(text)
    assert (str(read.value), read.currency) == (number, currency)


@cases("text", ["€12 £", "(-12)", "-(12)", "-12-", "(12", "12)", "()", "€", "-+12", "$12", "1 €2"])
def test_an_amount_with_two_meanings_is_refused(text: str) -> None:
    with pytest.raises(CellError):
        SETTLEMENT.read(text)


@pytest.mark.parametrize(
    ("separator", "text"),
    [
        (",", "1,234,567.5"),
        ("'", "1'234'567.5"),
        ("'", "1\N{RIGHT SINGLE QUOTATION MARK}234\N{RIGHT SINGLE QUOTATION MARK}567.5"),
        ("\N{RIGHT SINGLE QUOTATION MARK}", "1\N{RIGHT SINGLE QUOTATION MARK}234\N{RIGHT SINGLE QUOTATION MARK}567.5"),
        (" ", "1 234 567.5"),
        (" ", "1\N{NO-BREAK SPACE}234\N{NO-BREAK SPACE}567.5"),
        (" ", "1\N{NARROW NO-BREAK SPACE}234\N{NARROW NO-BREAK SPACE}567.5"),
        ("\N{NO-BREAK SPACE}", "1\N{NO-BREAK SPACE}234\N{NO-BREAK SPACE}567.5"),
    ],
)
def test_a_declared_separator_is_read_and_an_undeclared_one_refused(separator: str, text: str) -> None:
    assert NumberForm(thousands=separator).number(text) == Decimal("1234567.5")
    with pytest.raises(CellError):
        NumberForm().number(text)


@pytest.mark.parametrize(
    ("text", "declaration"),
    [
        ("1.259,80 €", 'decimal = ",", thousands = ".", currencies = { "€" = "EUR" }'),
        ("EUR 12.00", 'decimal = ".", currencies = { "EUR" = "EUR" }'),
        ("$ 12.00", 'decimal = ".", currencies = { "$" = "?" }'),
        ("R$ 12.00", 'decimal = ".", currencies = { "R$" = "?" }'),
        ("(12.00)", 'decimal = ".", negative = ["brackets"]'),
        ("12,00- €", 'decimal = ",", negative = ["trailing minus"], currencies = { "€" = "EUR" }'),
        ("1\N{NARROW NO-BREAK SPACE}234,5", 'decimal = ",", thousands = " "'),
        ("1\N{RIGHT SINGLE QUOTATION MARK}234.50", 'decimal = ".", thousands = "\'"'),
        ("1,234", 'decimal = ".", thousands = ",", or: decimal = ","'),
    ],
)
def test_the_error_shows_how_to_declare_the_form(text: str, declaration: str) -> None:
    with pytest.raises(CellError) as error:
        NumberForm().number(text)
    assert str(error.value).endswith(f"to read it, set in [numbers]: {declaration}")


@pytest.mark.parametrize("text", ["2,5O", "free", "12:30", "2026-10-23", "1e3", "12 %", "9" * 50, "9" * 500_000])
def test_what_is_no_number_in_any_form_has_no_declaration(text: str) -> None:
    with pytest.raises(CellError) as error:
        NumberForm().number(text)
    assert "set in" not in str(error.value)
