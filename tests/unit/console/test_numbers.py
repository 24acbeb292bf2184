"""Numbers as people write them in their language: read exactly, or refused; nothing is guessed."""

import json
from collections.abc import Iterable, Mapping
from typing import Final

from tests.support.console_modules import NEEDS_NODE, evaluated

pytestmark = NEEDS_NODE

ARABIC: Final = "\u0661\u066c\u0662\u0663\u0664\u066b\u0665"
"""1,234.5 as Egypt writes it."""
UNDERSTOOD: Final = {
    "en": {
        "1,234": "1234", "1,234.50": "1234.50", "1234.5": "1234.5", "-0.12345": "-0.12345", " 7 ": "7", "007": "7",
        "\u22125": "-5", "-0.00": "0.00", "12,345,678,901,234,567,890.1": "12345678901234567890.1", "1.234": "1.234",
    },
    "de": {"1.234": "1234", "154,87": "154.87", "1.234,50": "1234.50", "1,234": "1.234", "-1.234.567,8": "-1234567.8"},
    "fr": {"1 234,5": "1234.5", "1\u202f234,5": "1234.5", "1\u00a0234,5": "1234.5", "-12,5": "-12.5"},
    "de-CH": {"1'234.50": "1234.50", "1\u2019234.50": "1234.50"},
    "en-IN": {"12,34,567.5": "1234567.5", "1,234": "1234"},
    "es": {"1.234": "1234", "1234": "1234", "12.345,6": "12345.6"},
    "ar-EG": {ARABIC: "1234.5", "\u061c-\u0665": "-5", "12": "12"},
}  # fmt: skip
REFUSED: Final = {
    "en": ["154,87", "1,23", "1,2345", "12345,678", "0,500", "1,234,56", "1 234", "1e5", "+5", ".5", "5.", "--5", "",
           "1.2.3", "five", "123456789012345678901", "1,234.567,8"],
    "de": ["154.87", "1.23", "0.500", "12.34.567", "1234.567", "0.5", "1.234.5", "1'234"],
    "fr": ["1.234", "1,5,0", "1 23"],
    "en-IN": ["1,234,567"],
}  # fmt: skip


def read(texts: Mapping[str, Iterable[str]]) -> dict[str, list[str | None]]:
    """Return what the console understands of texts, by the language of the reader: in one call of Node.js."""
    given = json.dumps([[language, list(some)] for language, some in texts.items()])
    call = "[language, texts.map((one) => module.readNumber(one, language) ?? null)]"
    return dict(evaluated("lib/numbers.js", f"{given}.map(([language, texts]) => {call})"))


def test_a_number_in_the_language_of_the_reader_is_understood_exactly() -> None:
    assert read(UNDERSTOOD) == {language: list(expected.values()) for language, expected in UNDERSTOOD.items()}


def test_what_could_be_another_number_is_refused() -> None:
    found = {language: dict(zip(REFUSED[language], values, strict=True)) for language, values in read(REFUSED).items()}
    assert found == {language: dict.fromkeys(texts) for language, texts in REFUSED.items()}


def test_what_the_console_shows_is_understood_when_it_is_copied_back() -> None:
    languages = ["en", "de", "fr", "de-CH", "en-IN", "es", "ar-EG", "fa", "sv", "pt-PT", "ja"]
    values = ["0.00", "154.87", "1234.00", "-1234567.80", "0.12345", "99999999.99", "12345678901234567890.10"]
    places = "{ minimumFractionDigits: (one.split('.')[1] || '').length }"
    shown = f"new Intl.NumberFormat(language, {places}).format(one)"
    texts = f"{json.dumps(values)}.flatMap((one) => [{shown}, module.unmistakable(one, language)])"
    calls = f"{json.dumps(languages)}.map((language) => [language, {texts}])"
    copied = dict(evaluated("lib/numbers.js", calls))
    twice = [value for value in values for _ in range(2)]
    assert read(copied) == dict.fromkeys(languages, twice)


def test_what_was_understood_is_shown_so_that_nobody_reads_another_number() -> None:
    values = ["1234", "1.234", "12.5", "0.12345"]
    call = f"{json.dumps(values)}.map((one) => ['en', 'de'].map((language) => module.unmistakable(one, language)))"
    assert evaluated("lib/numbers.js", call) == [
        ["1,234.00", "1.234,00"],
        ["1.2340", "1,2340"],
        ["12.50", "12,50"],
        ["0.12345", "0,12345"],
    ]


def test_the_example_has_as_many_decimal_places_as_the_currency() -> None:
    call = "[0, 1, 2, 10].map((places) => [module.exampleOf(places, 'en'), module.exampleOf(places, 'de')])"
    assert evaluated("lib/numbers.js", call) == [
        ["1,234", "1.234"],
        ["1,234.5", "1.234,5"],
        ["1,234.50", "1.234,50"],
        ["1,234.50", "1.234,50"],
    ]


def test_a_number_in_words_is_one_number_in_every_language() -> None:
    words = {
        "0": "zero",
        "0.00": "zero",
        "7": "seven",
        "15.00": "fifteen",
        "21": "twenty-one",
        "100": "one hundred",
        "1234": "one thousand two hundred thirty-four",
        "1.234": "one point two three four",
        "12.50": "twelve point five zero",
        "-0.005": "minus zero point zero zero five",
        "1000000": "one million",
        "2000015": "two million fifteen",
        "-1001010.10": "minus one million one thousand ten point one zero",
        "99999999999999999999": "ninety-nine quintillion nine hundred ninety-nine quadrillion nine hundred ninety-nine"
        " trillion nine hundred ninety-nine billion nine hundred ninety-nine million nine hundred ninety-nine thousand"
        " nine hundred ninety-nine",
    }
    assert evaluated("lib/numbers.js", f"{json.dumps(list(words))}.map(module.spelled)") == list(words.values())


def test_an_amount_in_words_names_its_currency() -> None:
    amounts = [["1234", "EUR"], ["1.00", "EUR"], ["12.50", "GBP"], ["-3", "JPY"], ["0.125", "KWD"], ["1", "XYZ"]]
    assert evaluated("lib/numbers.js", f"{json.dumps(amounts)}.map((one) => module.spelledMoney(...one))") == [
        "one thousand two hundred thirty-four euros",
        "one euro",
        "twelve point five zero British pounds",
        "minus three Japanese yen",
        "zero point one two five Kuwaiti dinars",
        "one XYZ",
    ]


def test_a_german_thousand_is_spelled_as_the_thousand_that_was_understood() -> None:
    call = "module.spelledMoney(module.readNumber('1.234', language), 'EUR')"
    assert evaluated("lib/numbers.js", f"['de', 'en'].map((language) => {call})") == [
        "one thousand two hundred thirty-four euros",
        "one point two three four euros",
    ]
