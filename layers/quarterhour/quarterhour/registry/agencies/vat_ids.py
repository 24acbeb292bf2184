"""VAT ids: checked by the rules of their country, check digits included."""

import re
from typing import Any, Final

VAT_ID: Final = "a VAT id that its country can have issued, such as DE136695976"

_OF_OTHER_COUNTRIES: Final = re.compile(r"[A-Z0-9]{4,20}", re.ASCII)
"""The form of a VAT id of a country whose rules are not known."""
_FILLING: Final = re.compile(r"[ ./-]")
_PREFIXES: Final = {"EL": "GR", "XI": "GB"}
"""The countries whose VAT ids begin with other letters than their code."""


def is_vat_id(vat_id: str, country: str | None) -> bool:
    """Return whether a VAT id is one of an agency's country, or of the country that its first letters name."""
    rules = [rule for code in _countries(vat_id, country) if (rule := _rule(code))]
    if rules:
        return any(rule.is_valid(vat_id) for rule in rules)
    return country is not None and bool(_OF_OTHER_COUNTRIES.fullmatch(_FILLING.sub("", vat_id).upper()))


def _countries(vat_id: str, country: str | None) -> dict[str, None]:
    """Return the countries whose rules may be those of a VAT id, in the order in which they are tried."""
    prefix = vat_id.strip()[:2].upper()
    codes = (country, _PREFIXES.get(prefix, prefix))
    return dict.fromkeys(code for code in codes if code and code.isascii() and code.isalpha())


def _rule(country: str) -> Any:  # noqa: ANN401 - a module, which the library describes by a protocol
    # Loading the library takes 0.1 s; only a request that holds a VAT id needs it.
    from stdnum import get_cc_module  # noqa: PLC0415

    return get_cc_module(country.lower(), "vat")
