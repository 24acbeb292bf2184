"""VAT ids: read as people write them, checked by the rules of their country, and stored in one form."""

import re
import unicodedata
from operator import itemgetter
from typing import Any, Final

from quarterhour.model.fields import shown

VAT_ID: Final = "a VAT id that its country can have issued, such as DE136695976"
MEMBER_STATES: Final = frozenset(
    (
        *("AT", "BE", "BG", "CY", "CZ", "DE", "DK", "EE", "ES", "FI", "FR", "GR", "HR", "HU"),
        *("IE", "IT", "LT", "LU", "LV", "MT", "NL", "PL", "PT", "RO", "SE", "SI", "SK"),
    )
)
"""The member states of the European Union, by ISO 3166-1."""

_OF_OTHER_COUNTRIES: Final = re.compile(r"[A-Z0-9]{4,20}", re.ASCII)
"""The form of a VAT id of a country whose rules are not known."""
_FILLING: Final = re.compile(
    r"[\s./:,()_\N{DEGREE SIGN}\N{MINUS SIGN}\N{SOFT HYPHEN}"
    r"\u2010-\u2015\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff-]+"
)
"""Blanks, marks and what does not show, which comes along where an id is copied."""
_LABEL: Final = re.compile(
    r"(?:(?:N[OR]?)?(?:UST|MWST|VAT|TAX|TVA|BTW|P?IVA|PARTITAIVA|UID|NIF|CIF|NIPC?|DI[CČ]|I[CČ]DPH|ALV|MOMS|PVM|PVN|OIB|CUI|ΑΦΜ)"
    r"(?:REG(?:ISTRATION)?)?(?:ID(?:ENT)?)?(?:NUMBER|NUMMER|NUM|NO|NR)?)+(?=[A-Z0-9]*[0-9])",
)
"""What papers print before a VAT id, without blanks and marks."""
_PREFIXES: Final = {"GR": "EL", "MC": "FR", "IM": "GB"}
"""The letters before the ids of a country, where they are not its code: Monaco's are French, those of Man British."""
_COUNTRIES: Final = {"EL": "GR", "XI": "GB"}
"""The countries of the letters that are no code of one."""
_PREFIXED: Final = frozenset({*MEMBER_STATES, "GB", "NO", *_COUNTRIES})
"""The letters that belong to the id itself in its canonical form."""
_SWISS: Final = "CH"
_SWISS_NUMBER: Final = len("CHE107787577")
_OF_SWITZERLAND: Final = "MWST"
"""The letters after a Swiss id of VAT, in one of its languages: TVA and IVA say the same."""
_NORWEGIAN: Final = "NO"
_OF_NORWAY: Final = "MVA"


def read_vat_id(text: str, country: str | None) -> str:
    """Return the canonical form of a VAT id of an agency's country, or of the country that its first letters name.

    That is without blanks and marks, in capital letters, after the letters of its country. Raises ``ValueError`` with
    what is wrong: the letters before it, its length, its form, or its check digits.
    """
    compact = _compact(text)
    if not compact:
        raise ValueError(f"is {shown(text)}, which has no letters and digits")
    if not compact.isascii() or not compact.isalnum():
        raise ValueError(f"is {shown(text)}, which has other characters than letters and digits")
    first = compact[:2]
    own = first if country and _COUNTRIES.get(first) == country else _PREFIXES.get(country or "", country)
    problems = []
    for prefix in dict.fromkeys(filter(None, (own, _PREFIXES.get(first, first)))):
        rule = _rule(_COUNTRIES.get(prefix, prefix))
        if rule is not None:
            try:
                return _checked(compact, prefix, rule)
            except ValueError as error:
                problems.append((prefix == first, str(error)))
    if problems:
        # The problem by the letters that it begins with says more than that by the agency's country.
        raise ValueError(f"is {shown(text)}, which {max(problems, key=itemgetter(0))[1]}")
    if country is None:
        raise ValueError(f"is {shown(text)}, which begins with the letters of no country")
    if not _OF_OTHER_COUNTRIES.fullmatch(compact):
        raise ValueError(f"is {shown(text)}, which has {len(compact)} letters and digits, not 4 to 20")
    return compact


def state_of(vat_id: str | None, country: str | None) -> str | None:
    """Return the country whose VAT id a party has, by the letters before it, or else its own; Monaco's is France."""
    state = _COUNTRIES.get((vat_id or "")[:2], (vat_id or "")[:2])
    own = "FR" if country == "MC" else country
    return state if state in MEMBER_STATES else own


def letters_of(country: str) -> str:
    """Return the letters before the VAT ids of a country: EL for Greece."""
    return _PREFIXES.get(country, country)


def without_marks(text: str) -> str:
    """Return what a person typed or copied without blanks, marks and what does not show, in capital letters."""
    return _FILLING.sub("", text).upper()


def _compact(text: str) -> str:
    """Return an id without blanks, marks and a label, in the capital letters of its country."""
    letters = without_marks(unicodedata.normalize("NFKC", text))
    found = _LABEL.match(letters)
    compact = letters[found.end() :] if found else letters
    first = compact[:2]
    return _PREFIXES[first] + compact[2:] if first in {"MC", "IM"} else compact


def _checked(compact: str, prefix: str, rule: Any) -> str:  # noqa: ANN401 - a module, described by a protocol
    """Return the canonical form of an id after these letters; raise ``ValueError`` with what is wrong with it."""
    from stdnum import exceptions, luhn  # noqa: PLC0415 - as below
    from stdnum.ch import uid  # noqa: PLC0415

    if prefix == _NORWEGIAN and not compact.endswith(_OF_NORWAY):
        compact += _OF_NORWAY
    if prefix == _SWISS and len(compact) == _SWISS_NUMBER:  # without the letters that say VAT
        rule = uid
    try:
        rule.validate(compact)
    except exceptions.InvalidChecksum:
        raise ValueError("has wrong check digits") from None
    except exceptions.InvalidLength:
        raise ValueError(f"has another length than the VAT ids of {prefix}") from None
    except exceptions.ValidationError as error:
        # A list of Italian offices ages, and a list without an office would refuse its right numbers.
        is_of_new_office = prefix == "IT" and isinstance(error, exceptions.InvalidComponent)
        if not is_of_new_office or not luhn.is_valid(rule.compact(compact)):
            raise ValueError(_other_form(compact, prefix)) from None
    if prefix == _SWISS and len(compact) > _SWISS_NUMBER:
        return compact[:_SWISS_NUMBER] + _OF_SWITZERLAND
    # The library leaves the letters of Romania.
    return prefix + str(rule.compact(compact)).removeprefix(prefix) if prefix in _PREFIXED else compact


def _other_form(compact: str, prefix: str) -> str:
    first = compact[:2]
    if first.isalpha() and first not in {prefix, _COUNTRIES.get(prefix)}:
        return f"begins with {first}, not with {prefix}, or has another form than the VAT ids of {prefix}"
    return f"has another form than the VAT ids of {prefix}"


def _rule(country: str) -> Any:  # noqa: ANN401 - a module, which the library describes by a protocol
    # Loading the library takes 0.1 s; only a request that holds a VAT id needs it.
    from stdnum import get_cc_module  # noqa: PLC0415

    return get_cc_module(country.lower(), "vat") if country.isalpha() else None
