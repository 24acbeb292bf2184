"""Texts in one form, by ranges written here: what is accepted depends on no version of Python.

Two forms of one text are one text: all texts are stored and compared in Unicode NFC. Names refuse what nobody sees;
text that only describes loses it.
"""

import re
from collections.abc import Callable
from typing import Any, Final

_OTHER_BLANKS: Final = r"\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000"
"""The blanks beside U+0020 that are no control characters, such as the no-break and the ideographic one."""
_BLANK: Final = re.compile(rf"[\t-\r\x1c-\x1f\x85\u2028\u2029{_OTHER_BLANKS}]")
_BLANK_OF_NAMES: Final = re.compile(f"[{_OTHER_BLANKS}]")
_BLANKS: Final = re.compile(" {2,}")
_ARABIC: Final = r"\u0600-\u08ff\u1800-\u18af\ua840-\ua877\U00010d00-\U00010d3f\U0001e900-\U0001e95f"
"""The scripts whose letters join: Arabic, Syriac, N'Ko, Mandaic, Mongolian, Phags-pa, Hanifi Rohingya, Adlam."""
_VIRAMA: Final = (
    r"\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d3b\u0d3c\u0d4d\u0dca\u0f84\u1039\u103a\u17d2\u1a60\u1b44"
    r"\u1baa\u1bab\ua806\ua8c4\ua953\ua9c0\uaaf6\U00011046\U000110b9\U00011133\U000111c0\U00011235\U0001134d\U00011442"
)
"""The signs that take a consonant's vowel, after which a joiner chooses the form of what follows."""
_EMOJI: Final = r"\u203c-\u3299\ufe0f\U0001f000-\U0001faff"
_NEEDED: Final = (
    f"(?<=[{_ARABIC}])\u200c(?=[{_ARABIC}])|(?<=[{_ARABIC}])\u200d"
    rf"|(?<=[{_VIRAMA}])[\u200c\u200d](?=[^\x00-\x7f])|\u200d(?=[{_VIRAMA}])"
    f"|(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])"
    "|(?<=\U0001f3f4)[\U000e0020-\U000e007e]{2,8}\U000e007f"
)
"""Joiners where the letters beside them need them, and the letters within the flag of a region."""
_LAST_OF_PLANES: Final = "".join(
    chr(plane | last) for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF)
)
_INVISIBLE: Final = re.compile(
    rf"({_NEEDED})|[\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e"
    rf"\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\ufdd0-\ufdef{_LAST_OF_PLANES}"
    "\U0001d173-\U0001d17a\U000e0000-\U000e00ff]"
)
"""Controls, zero-width and bidirectional controls, surrogates and noncharacters; the first group is what stays."""
_CONTINUES: Final = re.compile("[\u0e33\u0eb3\u1160-\u11ff\u200c\u200d\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f]")
"""What belongs to the letter before it, beside the marks."""
_HOLDS: Final = re.compile(f"[\u200d{_VIRAMA}]\\Z")
"""What ties the next letter to it."""
_OF_FLAGS: Final = "".join(map(chr, range(0x1F1E6, 0x1F200)))
"""The letters of flags, two for each."""


def one_form(text: str) -> str:
    """Return a text in Unicode NFC."""
    if text.isascii():
        return text
    # Imported for texts beyond ASCII alone, so that a function starts without it.
    from unicodedata import normalize  # noqa: PLC0415

    return normalize("NFC", text)


def in_one_form(value: Any) -> Any:  # noqa: ANN401 - JSON is any value
    """Return a JSON value with the texts of its lists in one form; those of its objects are so already."""
    if isinstance(value, str):
        return one_form(value)
    return [in_one_form(one) for one in value] if isinstance(value, list) else value


def is_plain(text: str) -> bool:
    """Return whether a text is printable ASCII, which has one form."""
    return text.isascii() and text.isprintable()


def of_name(text: str) -> str:
    """Return the form in which a name is stored and compared: in NFC, with U+0020 for each other blank."""
    return text if is_plain(text) else one_form(_BLANK_OF_NAMES.sub(" ", text))


def visible(text: str) -> str:
    """Return a text without characters that nobody sees; joiners stay where the letters beside them need them."""
    return text if is_plain(text) else _INVISIBLE.sub(r"\1", text)


def is_visible(text: str) -> bool:
    """Return whether a text has no character that nobody sees, but for joiners that the letters beside them need."""
    return visible(text) == text


def with_single_blanks(text: str) -> str:
    """Return a text in NFC with one blank for any run of blanks, tabs and line breaks, and none at its ends."""
    return _BLANKS.sub(" ", one_form(text if is_plain(text) else _BLANK.sub(" ", text))).strip(" ")


def described(text: str, most: int) -> str:
    """Return a text that describes something: visible, with single blanks, cut to so many characters; may be empty."""
    blanks = text if is_plain(text) else _BLANK.sub(" ", text)
    return cut(with_single_blanks(visible(blanks)), most)


def described_lines(text: str, line: Callable[[str], str]) -> str:
    """Return a text of several lines, each as ``line`` returns it, without blank lines at its ends."""
    return "\n".join(map(line, re.split("\r\n|[\n\r\x85\u2028\u2029]", text))).strip("\n")


def cut(text: str, most: int) -> str:
    """Return the beginning of a text, of at most so many characters, cut at a letter's border."""
    if len(text) <= most:
        return text
    end = most
    while end and _is_within_letter(text, end):
        end -= 1
    return text[: end or most].rstrip(" ")


def _is_within_letter(text: str, at: int) -> bool:
    """Return whether a place is between a letter and its marks, or within an emoji of several characters."""
    from unicodedata import category  # noqa: PLC0415 - as above

    after = text[at]
    if category(after).startswith("M") or _CONTINUES.match(after) or _HOLDS.search(text, max(0, at - 1), at):
        return True
    return after in _OF_FLAGS and (at - len(text[:at].rstrip(_OF_FLAGS))) % 2 == 1
