"""Names that are nearly equal to another: rules of access must not take one for the other."""

import unicodedata

from quarterhour.model import texts

_BLANKS = (" ", "\n", "\u00a0", "\u200b")


def near(name: str) -> list[str]:
    """Return names that begin or end as a name does, or differ from it in case, a blank or a Unicode normal form."""
    forms = (unicodedata.normalize(form, name) for form in ("NFC", "NFD", "NFKC", "NFKD"))
    cases = (name.upper(), name.lower(), name.title(), name.swapcase())
    longer = (name + "2", name + "-2", "x" + name, name * 2, name + "\0")
    blanks = [f"{before}{name}{after}" for blank in _BLANKS for before, after in ((blank, ""), ("", blank))]
    wide = "".join(chr(ord(one) + 0xFEE0) if "!" <= one <= "~" else one for one in name)
    found = dict.fromkeys((*forms, *cases, *longer, *blanks, name[:-1], name[1:], wide))
    return [one for one in found if texts.of_name(one) not in {texts.of_name(name), ""}]
