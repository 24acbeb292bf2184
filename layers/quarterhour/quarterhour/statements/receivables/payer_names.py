"""Names of payers, pure: two forms of one name. Banks write other letters, and leave out or turn round words."""

import re
import unicodedata
from types import MappingProxyType
from typing import Final

_LETTERS: Final = MappingProxyType(
    {
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "ł": "l",
        "đ": "d",
        "ð": "d",
        "þ": "th",
        "\N{LATIN SMALL LETTER DOTLESS I}": "i",
    }
)
"""Letters that are no other letter with a mark."""
_DOUBLED: Final = re.compile(r"(?<=[aou])e|(?<=a)a")
"""The second letter of what is written for ä, ö, ü, ø and å."""
_WORD: Final = re.compile(r"[^\W_]+")
_COMPANIES: Final = (
    "ab ag aps as asa bv cic co compagnie company corp corporation cv cvba doo dooel ead ehf ek eg eood eurl ev gbr "
    "gesmbh ggmbh gmbh gie haftungsbeschrankt hf ik incorporated inc kft kg kgaa kk ks lda limited llc llp lp ltd"
)
_MORE_COMPANIES: Final = (
    "ltda mbh nv nyrt ohg ood oo ou oy oyj plc pte pty pvt rt sa sapa sarl sas sasu sau sca sccl scop scs sci se sl "
    "slu snc sp spa spol srl srls sro uab ug unipessoal vof z zoo zrt"
)
_JOINING: Final = "and e en et i og och u und y the"
_LEGAL_FORMS: Final = frozenset(f"{_COMPANIES} {_MORE_COMPANIES} {_JOINING}".split())
"""Words that say what kind of company it is, or join two names; folded as names are."""


_AS_BANKS_PRINT: Final = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})
"""What banks print that have the letters of ASCII alone. ``ß``, ``æ`` and the like have one form in it."""


def exact_names(text: str) -> frozenset[str]:
    """Return the forms of a name, of which two writings share one that differ in what banks print alone.

    That is in case, blanks and signs, and in marks on letters: they are left out, or ``ü`` is printed as ``ue``.
    """
    lower = unicodedata.normalize("NFC", text.lower())
    return frozenset(filter(None, (_plain(lower), _plain(lower.translate(_AS_BANKS_PRINT)))))


def _plain(text: str) -> str:
    folded = "".join(_LETTERS.get(one, one) for one in text)
    return "".join(one for one in unicodedata.normalize("NFKD", folded) if one.isalnum())


def loose_name(text: str) -> tuple[str, ...]:
    """Return what two writings of a name share: its words in order, without legal forms, each letter in its plain form.

    ``ü``, ``ue`` and ``u`` are one, as are ``ø``, ``oe`` and ``o``, and ``ß`` and ``ss``.
    """
    plain = "".join(_LETTERS.get(one, one) for one in text.lower())
    without_marks = "".join(one for one in unicodedata.normalize("NFKD", plain) if not unicodedata.combining(one))
    joined = _abbreviations_joined([_DOUBLED.sub("", one) for one in _WORD.findall(without_marks)])
    return tuple(sorted([one for one in joined if one not in _LEGAL_FORMS] or joined))


def _abbreviations_joined(words: list[str]) -> list[str]:
    """Return words, of which letters that stand alone beside each other are one: ``b v`` is ``bv``."""
    found: list[str] = []
    letters = ""
    for word in [*words, ""]:
        if len(word) == 1:
            letters += word
            continue
        found += filter(None, (letters, word))
        letters = ""
    return found
