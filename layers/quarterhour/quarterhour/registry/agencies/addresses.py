"""Addresses, pure: post codes in the form of their country, and the lines of an address with its town."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from quarterhour.model import texts
from quarterhour.model.fields import shown

LONGEST_POST_CODE: Final = 16
"""As many characters as banks take."""
POST_CODE: Final = f"a post code as the country writes it, of at most {LONGEST_POST_CODE} letters and digits"


class _Form(NamedTuple):
    """Post codes without blanks and hyphens, what stands between their two parts, and how long the second part is."""

    digits: re.Pattern[str]
    between: str
    last: int
    example: str


def _form(digits: str, example: str) -> _Form:
    found = re.search("[ -]", example)
    last = len(example) - found.end() if found else 0
    return _Form(re.compile(digits, re.ASCII), found[0] if found else "", last, example)


_FORMS: Final = {
    _form(r"\d{3}", "101"): "FO IS",
    _form(r"\d{4}", "8001"): "AL AT AU BE BG CH CY DK HU LI LU MK NO NZ SI ZA",
    _form(r"\d{5}", "20457"): "BA DE EE ES FI FR HR IT LT MC ME RS SM TR UA VA XK",
    _form(r"\d{5}", "10014"): "US",
    _form(r"\d{6}", "100000"): "CN IN RO SG",
    _form(r"\d{5}", "111 22"): "CZ GR SE SK",
    _form(r"\d{5}", "00-950"): "PL",
    _form(r"\d{7}", "1100-148"): "PT",
    _form(r"\d{7}", "100-0001"): "JP",
    _form(r"\d{4}[A-Z]{2}", "1012 JS"): "NL",
    _form(r"LV\d{4}", "LV-1010"): "LV",
    _form(r"MD\d{4}", "MD-2001"): "MD",
    _form(r"AD\d{3}", "AD500"): "AD",
    _form(r"GX111AA", "GX11 1AA"): "GI",
    _form(r"[A-Z]{3}\d{4}", "VLT 1117"): "MT",
    _form(r"[A-Z]\d[\dW][A-Z\d]{4}", "D01 F5P2"): "IE",
    _form(r"[A-Z]{1,2}\d[A-Z\d]?\d[A-Z]{2}", "SW1A 1AA"): "GB GG IM JE",
    _form(r"[A-Z]\d[A-Z]\d[A-Z]\d", "K1A 0B1"): "CA",
}
_BY_COUNTRY: Final = MappingProxyType({one: form for form, countries in _FORMS.items() for one in countries.split()})
_US: Final = _BY_COUNTRY["US"]
_US_WITH_FOUR: Final = _form(r"\d{9}", "10014-1234")
_WITH_FOUR: Final = 9
_OTHER: Final = re.compile(rf"(?=.*[A-Z\d])[A-Z\d -]{{1,{LONGEST_POST_CODE}}}", re.ASCII)
_FILLING: Final = re.compile(r"[\s.\u2010-\u2015-]+")
_BEFORE: Final = re.compile(r"[A-Z]{1,3}[\s\u2010-\u2015-]+", re.ASCII)


def has_form(country: str | None) -> bool:
    """Return whether the form of a country's post codes is known."""
    return country in _BY_COUNTRY


def read_post_code(text: str, country: str | None) -> str:
    """Return the canonical form of a post code: in capital letters, with the blank or hyphen that its country writes.

    Letters of the country before it, such as ``D-``, are no part of it. Raises ``ValueError`` with what is wrong. Of a
    country without a known form, any letters and digits are one.
    """
    typed = texts.with_single_blanks(text).upper()
    compact = _FILLING.sub("", typed)
    without = _FILLING.sub("", _BEFORE.sub("", typed, count=1))
    form = _BY_COUNTRY.get(country or "")
    if form is None:
        if _OTHER.fullmatch(typed):
            return typed
        raise ValueError(f"is {shown(text)}")
    if form is _US and len(compact) == _WITH_FOUR:
        form = _US_WITH_FOUR
    for one in (compact, without if form.example[0].isdigit() else "", f"{country}{compact}"):
        if form.digits.fullmatch(one):
            at = len(one) - form.last
            return f"{one[:at]}{form.between}{one[at:]}" if form.last else one
    raise ValueError(f"is {shown(text)}, which has not the form of {country} such as {form.example}")


def letters(*parts: str) -> str:
    """Return parts of an address as they are compared: letters and digits alone."""
    return "".join(filter(str.isalnum, "".join(parts).casefold()))


def street_lines(party: Mapping[str, Any]) -> list[str]:
    """Return the lines of a party's address without that of its post code and town, if these are registered."""
    post_code, town = party.get("post_code"), party.get("town")
    beside = {letters(post_code, town), letters(town, post_code)} if post_code and town else set()
    lines = (party.get("address") or "").split("\n")
    return [line for one in lines if (line := one.strip()) and letters(line) not in beside]


def whole_address(party: Mapping[str, Any]) -> str | None:
    """Return a party's address, with a line for its post code and town unless it names both."""
    address = party.get("address")
    parts = [one for one in (party.get("post_code"), party.get("town")) if one]
    if all(letters(one) in letters(address or "") for one in parts):
        return address
    return "\n".join(filter(None, (*street_lines(party), " ".join(parts))))
