"""The languages of statements: the same texts in all, and figures, dates and countries as each writes them."""

import json
from decimal import Decimal
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from string import Formatter
from types import ModuleType

import pytest
from babel.numbers import format_decimal

from quarterhour.registry.agencies.agency import LANGUAGES
from quarterhour.statements.document.language import Language, language_of
from quarterhour.web.html.markup import Html
from tests.support.cases import cases

SCRIPT = Path(__file__).parents[4] / ".ci" / "formats.py"
ENGLISH = language_of("en")


@pytest.fixture(params=LANGUAGES)
def language(request: pytest.FixtureRequest) -> Language:
    """Each language."""
    return language_of(request.param)


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("formats", SCRIPT)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fields(text: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(text) if name}


def test_every_language_has_the_same_texts_with_the_same_fields(language: Language) -> None:
    assert list(language.texts) == list(ENGLISH.texts)
    for key, text in language.texts.items():
        assert text.strip() == text != "", key
        assert fields(text) == fields(ENGLISH[key]), key


def test_no_text_was_left_in_english(language: Language) -> None:
    if language is not ENGLISH:
        same = [key for key, text in language.texts.items() if text == ENGLISH[key]]
        assert len(same) < 15, same


def test_the_stored_formats_are_those_of_babel(language: Language, script: ModuleType) -> None:
    assert json.loads(script.content(language.code)) == language.formats


@cases("number", ["0", "7.5", "999.99", "1000", "12345.678", "1234567.00", "999999999999999.9"])
def test_numbers_are_written_as_babel_does(language: Language, number: str) -> None:
    places = len(number.partition(".")[2])
    pattern = f"#,##0.{'0' * places}" if places else "#,##0"
    locale = {"en": "en_GB"}.get(language.code, language.code)
    assert language.number(Decimal(number)) == format_decimal(Decimal(number), format=pattern, locale=locale)


@pytest.mark.parametrize(
    ("code", "money", "date", "days", "country"),
    [
        ("en", "GBP −1,234.50", "4 March 2027", "1–31 March 2027", "United Kingdom"),  # noqa: RUF001
        ("de", "−1.234,50 GBP", "4. März 2027", "1.–31. März 2027", "Vereinigtes Königreich"),  # noqa: RUF001
        ("fr", "−1\u202f234,50 GBP", "4 mars 2027", "1–31 mars 2027", "Royaume-Uni"),  # noqa: RUF001
        ("es", "−1.234,50 GBP", "4 de marzo de 2027", "1–31 de marzo de 2027", "Reino Unido"),  # noqa: RUF001
        ("nl", "GBP −1.234,50", "4 maart 2027", "1–31 maart 2027", "Verenigd Koninkrijk"),  # noqa: RUF001
    ],
)
def test_money_dates_and_countries_are_those_of_the_language(
    code: str, money: str, date: str, days: str, country: str
) -> None:
    language = language_of(code)
    assert language.money("-1234.5", "GBP").replace("\u00a0", " ") == money
    assert language.full_date("2027-03-04") == date
    assert language.days("2027-03") == days
    assert language.country("GB") == country


@pytest.mark.parametrize(
    ("amount", "currency", "exact", "half_even", "half_up"),
    [
        ("1234.5", "GBP", "1,234.50", "1,234.50", "1,234.50"),
        ("-39.005", "EUR", "−39.005", "−39.00", "−39.01"),  # noqa: RUF001 - a minus
        ("39.015", "EUR", "39.015", "39.02", "39.02"),
        ("-0.001", "EUR", "−0.001", "0.00", "0.00"),  # noqa: RUF001 - a minus
        ("1000000", "JPY", "1,000,000", "1,000,000", "1,000,000"),
        ("2.5", "JPY", "2.5", "2", "3"),
        ("1.5", "KWD", "1.500", "1.500", "1.500"),
        ("1.0005", "KWD", "1.0005", "1.000", "1.001"),
        ("10.00000", "GBP", "10.00", "10.00", "10.00"),
        ("9" * 38, "GBP", f"{'9' * 2}{',999' * 12}.00", *[f"{'9' * 2}{',999' * 12}.00"] * 2),
    ],
)
def test_amounts_have_the_decimals_of_their_currency(
    amount: str, currency: str, exact: str, half_even: str, half_up: str
) -> None:
    assert ENGLISH.exact(amount, currency) == exact
    assert ENGLISH.rounded(amount, currency, "half-even") == half_even
    assert ENGLISH.rounded(amount, currency, "half-up") == half_up


@pytest.mark.parametrize(
    ("percentage", "shown"), [("12.500", "12.5 %"), ("20", "20 %"), ("0", "0 %"), ("100", "100 %"), ("0.25", "0.25 %")]
)
def test_percentages_have_no_zeros_at_their_end(percentage: str, shown: str) -> None:
    assert ENGLISH.percent(Decimal(percentage)).replace("\u00a0", " ") == shown


def test_days_of_one_month_share_its_name() -> None:
    assert ENGLISH.span("2026-11-02", "2026-11-30") == "2–30 November 2026"  # noqa: RUF001 - a dash
    assert ENGLISH.span("2026-11-02", "2026-11-02") == "2 November 2026"
    assert ENGLISH.span("2026-10-31", "2026-11-01") == "31 October 2026 – 1 November 2026"  # noqa: RUF001 - a dash
    assert ENGLISH.span("2025-11-02", "2026-11-01") == "2 November 2025 – 1 November 2026"  # noqa: RUF001 - a dash


def test_a_text_is_escaped_and_what_is_filled_in_is_html() -> None:
    french = language_of("fr")
    french = Language("fr", {"a": "l'avoir <{number}>"}, french.formats)
    assert french.html("a", number=Html("<bdi>C-1</bdi>")) == "l&#x27;avoir &lt;<bdi>C-1</bdi>&gt;"


def test_a_language_without_a_catalogue_is_refused() -> None:
    with pytest.raises(ValueError, match="'it' is no language of statements: expected one of en, de, fr, es, nl"):
        language_of("it")


@pytest.mark.parametrize(
    ("code", "note"),
    [
        ("en", "Reverse charge"),
        ("de", "Steuerschuldnerschaft des Leistungsempfängers"),
        ("fr", "Autoliquidation"),
        ("es", "Inversión del sujeto pasivo"),
        ("nl", "Btw verlegd"),
    ],
)
def test_the_note_of_reverse_charge_is_that_of_the_directive(code: str, note: str) -> None:
    """The words of Article 226(11a) of Directive 2006/112/EC in the official texts."""
    assert language_of(code)["note_reverse_charge"].startswith(note)
