"""Writes how each language of statements writes figures, dates and countries, from the locale data of Babel.

The bytes of a sealed page must never change, and locale data change twice a year. So the statements load the files that
this program writes, and not Babel. Released files change with a new schema of statements only.
"""

import json
import re
from pathlib import Path
from typing import Any, Final

from babel import Locale

from quarterhour.model.countries import COUNTRIES
from quarterhour.registry.agencies.agency import LANGUAGES

FOLDER: Final = Path(__file__).resolve().parents[1] / "layers/quarterhour/quarterhour/statements/document/languages"
LOCALES: Final = {"en": "en_GB"}
"""The locale of a language that differs from it: English dates begin with the day, as in most countries."""
_TOKEN: Final = re.compile(r"'(.*?)'|(MMMM|MMM|d|y)")
_NAMES: Final = {"MMMM": "{month}", "MMM": "{short_month}", "d": "{day}", "y": "{year}"}


def formats(language: str) -> dict[str, Any]:
    """Return the formats of a language as plain values; patterns have fields such as ``{day}``."""
    locale = Locale.parse(LOCALES.get(language, language))
    symbols = locale.number_symbols["latn"]
    date = _pattern(locale.date_formats["long"].pattern)
    before = locale.currency_formats["standard"].pattern.startswith("\N{CURRENCY SIGN}")
    first, last = (date[: date.index(" ")].format(day=field) for field in ("{first}", "{last}"))
    return {
        "decimal": symbols["decimal"],
        "group": symbols["group"],
        "money": "{currency}\u00a0{amount}" if before else "{amount}\u00a0{currency}",
        "percent": "{number}\u00a0%",
        "date": date,
        "days": f"{first}\u2013{last}{date[date.index(' ') :]}",
        "month": _pattern(locale.datetime_skeletons["yMMMM"].pattern),
        "short_date": _pattern(locale.datetime_skeletons["MMMd"].pattern),
        "months": [locale.months["format"]["wide"][number] for number in range(1, 13)],
        "short_months": [locale.months["format"]["abbreviated"][number] for number in range(1, 13)],
        "countries": {code: locale.territories[code] for code in sorted(COUNTRIES)},
    }


def content(language: str) -> str:
    """Return the content of a language's file."""
    return json.dumps(formats(language), ensure_ascii=False, indent=1) + "\n"


def _pattern(pattern: str) -> str:
    """Return a date pattern of CLDR as a format string of Python."""
    return _TOKEN.sub(lambda match: _NAMES[match[2]] if match[2] else match[1], pattern)


if __name__ == "__main__":
    for code in LANGUAGES:
        (FOLDER / f"{code}.json").write_text(content(code))
