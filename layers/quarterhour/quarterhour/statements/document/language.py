"""How a statement is written in a language: its texts, figures, dates and countries.

The texts are in ``languages/de.toml``, the formats in ``languages/de.json``. ``.ci/formats.py`` writes the formats.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import cache
from importlib.resources import files
from typing import Any, Final

from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.registry.agencies.agency import LANGUAGES
from quarterhour.web.html.markup import Html, escaped

_FOLDER: Final = files("quarterhour.statements.document") / "languages"
_EXACT: Final = Context(prec=200, traps=[Inexact, InvalidOperation])
_GROUP: Final = 3
_MINUS: Final = "\N{MINUS SIGN}"


@dataclass(frozen=True, slots=True)
class Language:
    """A language of statements. ``texts``: by key, with fields such as ``{number}``; ``formats``: as stored."""

    code: str
    texts: Mapping[str, str]
    formats: Mapping[str, Any]

    def __getitem__(self, key: str) -> str:
        """Return a text."""
        return self.texts[key]

    def html(self, key: str, **values: Html) -> Html:
        """Return a text as HTML, with HTML in its fields."""
        return Html(escaped(self.texts[key]).format(**values))

    def number(self, value: Decimal) -> str:
        """Return a number with a true minus sign and its thousands apart; its decimal places stay."""
        digits, _, places = money.plain(value.copy_abs()).partition(".")
        first = len(digits) % _GROUP or _GROUP
        groups = [digits[:first], *(digits[at : at + _GROUP] for at in range(first, len(digits), _GROUP))]
        whole: str = self.formats["group"].join(groups)
        point: str = self.formats["decimal"] if places else ""
        return f"{_MINUS if value < 0 else ''}{whole}{point}{places}"

    def exact(self, amount: str, currency: str) -> str:
        """Return an amount with the decimals of its currency, and with more only if it has more."""
        value = Decimal(amount)
        digits = max(money.minor_digits(currency), money.places(value.normalize(_EXACT)))
        return self.number(_padded(value, digits))

    def rounded(self, amount: str, currency: str, rounding: str) -> str:
        """Return an amount with the decimals of its currency; ``rounding``: that of the document."""
        return self.number(money.on_statement(Decimal(amount), currency, money.Rounding(rounding)))

    def money(self, amount: str, currency: str) -> str:
        """Return an exact amount with its currency: ``GBP 1,234.50``, ``1.234,50 EUR``."""
        text: str = self.formats["money"].format(amount=self.exact(amount, currency), currency=currency)
        return text

    def count(self, number: int) -> str:
        """Return a whole number."""
        return self.number(Decimal(number))

    def percent(self, percentage: Decimal) -> str:
        """Return a percentage: ``12.5 %`` for 12.5."""
        text: str = self.formats["percent"].format(number=self.number(money.trimmed(percentage)))
        return text

    def full_date(self, day: str) -> str:
        """Return a date in full: ``4 November 2026``."""
        return self._dated("date", date.fromisoformat(day))

    def short_date(self, day: str) -> str:
        """Return a date within a known year: ``4 Nov``."""
        return self._dated("short_date", date.fromisoformat(day))

    def month(self, month: str) -> str:
        """Return a month: ``November 2026``."""
        return self._dated("month", Period.parse(month).first_day)

    def days(self, month: str) -> str:
        """Return a month by its first and last day: ``1–30 November 2026``."""  # noqa: RUF002 - a dash
        period = Period.parse(month)
        return self._dated("days", period.first_day, first="1", last=str(period.last_day.day))

    def span(self, first: str, last: str) -> str:
        """Return the days from a first one to a last one: ``4–31 October 2026``."""  # noqa: RUF002 - a dash
        one, other = date.fromisoformat(first), date.fromisoformat(last)
        if one != other and one.replace(day=1) == other.replace(day=1):
            return self._dated("days", one, first=str(one.day), last=str(other.day))
        texts = [self.full_date(day) for day in dict.fromkeys((first, last))]
        return " \N{EN DASH} ".join(texts)

    def country(self, code: str) -> str:
        """Return the name of a country."""
        name: str = self.formats["countries"][code]
        return name

    def _dated(self, pattern: str, day: date, **more: str) -> str:
        formats = self.formats
        names = {name: formats[f"{name}s"][day.month - 1] for name in ("month", "short_month")}
        text: str = formats[pattern].format(day=day.day, year=day.year, **names, **more)
        return text


@cache
def language_of(code: str) -> Language:
    """Return a language by its code; raise ``ValueError`` if statements are not written in it."""
    if code not in LANGUAGES:
        raise ValueError(f"{code!r} is no language of statements: expected one of {', '.join(LANGUAGES)}")
    texts = tomllib.loads((_FOLDER / f"{code}.toml").read_text(encoding="utf-8"))
    return Language(code, texts, json.loads((_FOLDER / f"{code}.json").read_bytes()))


def _padded(value: Decimal, digits: int) -> Decimal:
    padded = value.quantize(Decimal(1).scaleb(-digits), context=_EXACT)
    return padded.copy_abs() if padded.is_zero() else padded
