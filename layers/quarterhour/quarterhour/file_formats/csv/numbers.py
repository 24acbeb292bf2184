"""Numbers as CSV files write them: separators, negative amounts, currency signs.

The map declares the form of its numbers; a number of another form is never guessed. The error of such a number shows
the declarations under which it can be read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property, lru_cache
from typing import Final, NamedTuple

from quarterhour.file_formats.csv.errors import CellError
from quarterhour.model import money

BRACKETS: Final = "brackets"
"""The form `(12.00)` of a negative number."""
TRAILING_MINUS: Final = "trailing minus"
"""The form `12.00-` of a negative number."""
NEGATIVE_FORMS: Final = frozenset({BRACKETS, TRAILING_MINUS})
THOUSANDS: Final = ("", ",", ".", " ", "'")
"""The usual thousands separators."""
CURRENCY_SIGNS: Final[Mapping[str, str]] = {"€": "EUR", "£": "GBP", "₹": "INR", "₺": "TRY", "zł": "PLN", "₪": "ILS"}
"""Signs that stand for one currency."""
EITHER: Final = "either"
"""The decimal sign of a file whose numbers show theirs one by one."""
OPEN: Final = "?"
"""A value of a map that is still to be decided."""

_MINUS: Final = ("-", "\N{MINUS SIGN}")
_ALIKE: Final[Mapping[str, str]] = {
    " ": " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}",
    "'": "'\N{RIGHT SINGLE QUOTATION MARK}",
}
"""The separators that nobody can tell from a declared one."""
_LONGEST: Final = 100
"""The most characters of a number, with its signs and separators."""
_SYMBOL: Final = "[$£¥฿₠-⃀]"
_SIGN: Final = re.compile(rf"[^\W\d_]{{0,3}}{_SYMBOL}|[^\W\d_]{{1,3}}")
_GROUP: Final = re.compile(r"(?<![\d.,])[1-9]\d{0,2}[.,]\d{3}(?!\d)")
"""A number whose separator can be a decimal sign or one of thousands, such as `1.234`."""
_WORDS: Final = frozenset({"kr", "Kč", "Fr", "zł", "Ft", "lei"})
"""The signs of currencies that are made of letters, besides the codes."""


class Number(NamedTuple):
    """A number of a cell, and the currency that its sign names, or several with blanks between them; `None` without."""

    value: Decimal
    currency: str | None


@dataclass(frozen=True)
class NumberForm:
    """The form of the numbers of a file.

    `decimal` is the decimal sign, or `EITHER` if each number shows its own; `thousands` the thousands separator or
    empty. `negative` holds forms of negative
    numbers besides a leading minus. `currencies` has the currency code of each sign that an amount may carry; of a sign
    that several currencies share, all their codes with blanks between them. With `minor_units`, an amount has the
    decimal places of its currency, however the file writes it.
    """

    decimal: str = "."
    thousands: str = ""
    negative: frozenset[str] = frozenset()
    currencies: Mapping[str, str] = field(default_factory=dict, hash=False)
    minor_units: bool = False

    def __post_init__(self) -> None:
        if self.decimal not in {".", ",", EITHER}:
            raise ValueError(f'decimal must be ".", "," or "{EITHER}"')
        if self.decimal == EITHER and self.thousands:
            raise ValueError(f'thousands must be left out if decimal is "{EITHER}": each number shows its own')
        taken = {"+", "(", ")", self.decimal, *_MINUS}
        if len(self.thousands) > 1 or self.thousands in taken or self.thousands.isalnum():
            raise ValueError("thousands must be one sign other than the decimal sign, or empty")
        if not self.negative <= NEGATIVE_FORMS:
            raise ValueError(f"negative must be a list of {' and '.join(map(repr, sorted(NEGATIVE_FORMS)))}")
        for sign, code in self.currencies.items():
            if not sign.strip() or any(one.isdigit() or one in taken for one in sign):
                raise ValueError(f"currencies: {sign!r} must be a sign without digits, brackets, plus and minus")
            if not code.split() or not all(map(money.is_currency, code.split())):
                raise ValueError(f"currencies: {code!r} is not the ISO 4217 code of a currency, or of several")

    @property
    def example(self) -> str:
        """A number in this form."""
        if self.decimal == EITHER:
            return "1,234.56 or 1.234,56"
        return f"1{self.thousands}234{self.decimal}56"

    def read(self, text: str) -> Number:
        """Return the exact number of a text. Thousands are groups of three digits (`1.5` is not 15); no exponents.

        Raises `CellError` if the text is not a number of this form.
        """
        number = self._parsed(text)
        if number is None:
            hint = declarations(text)
            raise CellError(f"is {text!r}, not a number of the form {self.example}{hint and '; ' + hint}")
        return number

    def number(self, text: str) -> Decimal:
        """Return the exact number of a text without its currency."""
        return self.read(text).value

    def _parsed(self, text: str) -> Number | None:
        if len(text) > _LONGEST:
            return None
        if self.decimal == EITHER:
            own = self._shown_by(text)
            return own._parsed(text) if own else None  # noqa: SLF001 - the same class
        rest, minus, codes = text.strip(), 0, set[str]()
        while True:
            sign = self._currency_sign(rest)
            if sign:
                codes.add(self.currencies[sign])
                rest = rest.removeprefix(sign) if rest.startswith(sign) else rest.removesuffix(sign)
            elif BRACKETS in self.negative and rest[:1] == "(" and rest[-1:] == ")":
                minus, rest = minus + 1, rest[1:-1]
            elif TRAILING_MINUS in self.negative and rest.endswith(_MINUS):
                minus, rest = minus + 1, rest[:-1]
            elif rest.startswith(_MINUS):
                minus, rest = minus + 1, rest[1:]
            else:
                break
            rest = rest.strip()
        if minus > 1 or len(codes) > 1 or not self._pattern.fullmatch(rest):
            return None
        digits = rest.translate(self._plain)
        if minus and digits.startswith("+"):
            return None
        value = money.parse_decimal(Decimal(f"-{digits}" if minus else digits))
        return None if value is None else Number(value, next(iter(codes), None))

    def _shown_by(self, text: str) -> "NumberForm | None":
        """Return the form that a number shows by its own separators; `None` if it fits both decimal signs."""
        found = re.findall(r"[.,](?=\d)", text)
        last = found[-1] if found else "."
        other = "," if last == "." else "."
        if len(found) > 1 and len(set(found)) == 1:  # groups of thousands alone
            last, other = other, last
        elif len(found) == 1 and _GROUP.search(text):
            return None
        return NumberForm(last, other, self.negative, self.currencies)

    def _currency_sign(self, text: str) -> str | None:
        """Return the currency sign at either end of a text; `None` if there is none."""
        return next((sign for sign in self._signs if text.startswith(sign) or text.endswith(sign)), None)

    @cached_property
    def _signs(self) -> list[str]:
        return sorted(self.currencies, key=len, reverse=True)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        separators = f"[{re.escape(_ALIKE.get(self.thousands, self.thousands))}]"
        grouped = rf"[0-9]{{1,3}}(?:{separators}[0-9]{{3}})+|" if self.thousands else ""
        fraction = re.escape(self.decimal)
        return re.compile(rf"[+]?(?:(?:{grouped}[0-9]+)(?:{fraction}[0-9]*)?|{fraction}[0-9]+)")

    @cached_property
    def _plain(self) -> dict[int, str | None]:
        """Translates a number of this form to Python's form."""
        dropped: dict[str, str | None] = dict.fromkeys(_ALIKE.get(self.thousands, self.thousands))
        return str.maketrans({**dropped, self.decimal: "."})


def usual_forms(currencies: Mapping[str, str]) -> Iterator[NumberForm]:
    """Yield the forms with the usual separators, and with all forms of negative numbers."""
    for decimal in ".,":
        for thousands in THOUSANDS:
            if thousands != decimal:
                yield NumberForm(decimal, thousands, NEGATIVE_FORMS, currencies)


def signs(text: str) -> set[str]:
    """Return the texts around the digits of a number that may be signs or codes of a currency."""
    return {one for one in _SIGN.findall(text) if one in _WORDS or money.is_currency(one.upper()) or not one.isalpha()}


def code_of(sign: str) -> str:
    """Return the currency of a sign if there is only one, else `OPEN`."""
    return sign.upper() if money.is_currency(sign.upper()) else CURRENCY_SIGNS.get(sign, OPEN)


@lru_cache(maxsize=1024)
def declarations(text: str) -> str:
    """Return how a map can declare the form of a number; empty if the text is none in any usual form.

    If the text can be read in two ways, both are returned.
    """
    if len(text) > _LONGEST:
        return ""
    found = signs(text)
    forms: dict[Decimal, NumberForm] = {}
    for form in usual_forms(dict.fromkeys(found, "EUR")):
        number = form._parsed(text)  # noqa: SLF001 - the same module
        if number and number.value not in forms:
            forms[number.value] = form
    if not forms:
        return ""
    ways = []
    for form in forms.values():
        entries = [f'decimal = "{form.decimal}"'] + ([f'thousands = "{form.thousands}"'] if form.thousands else [])
        ways.append(", ".join(entries + _further(text, found)))
    return "to read it, set in [numbers]: " + ", or: ".join(ways)


def _further(text: str, found: set[str]) -> list[str]:
    """Return the entries of `[numbers]` beside the separators that a number needs."""
    entries = []
    if "(" in text:
        entries.append(f'negative = ["{BRACKETS}"]')
    elif text.rstrip("".join(found) + " \N{NO-BREAK SPACE}").endswith(_MINUS):
        entries.append(f'negative = ["{TRAILING_MINUS}"]')
    if found:
        entries.append("currencies = { " + ", ".join(f'"{one}" = "{code_of(one)}"' for one in sorted(found)) + " }")
    return entries
