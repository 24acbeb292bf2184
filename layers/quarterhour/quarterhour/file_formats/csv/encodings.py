"""The encodings that a map can name: those that turn bytes into text, whatever the version of Python has besides."""

import codecs
from typing import Final

_NAMES: Final = (
    *("ascii", "utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"),
    *(f"iso8859-{number}" for number in (*range(1, 12), 13, 14, 15, 16)),
    *(f"cp{number}" for number in range(1250, 1259)),
    *(
        f"cp{number}"
        for number in (437, 720, 737, 775, 850, 852, 855, 856, 857, 858, 860, 861, 862, 863, 864, 865, 866)
    ),
    *(f"cp{number}" for number in (869, 874, 1006, 1125, 273, 424, 500, 875, 1026, 1140)),
    *("cp037", "koi8-r", "koi8-u", "koi8-t", "kz1048", "ptcp154", "hp-roman8", "tis-620"),
    *("mac-roman", "mac-latin2", "mac-cyrillic", "mac-greek", "mac-iceland", "mac-turkish"),
    *("big5", "big5hkscs", "cp950", "gb2312", "gbk", "gb18030", "hz", "cp932", "shift_jis", "shift_jis_2004"),
    *("shift_jisx0213", "euc_jp", "euc_jis_2004", "euc_jisx0213", "iso2022_jp", "iso2022_jp_1", "iso2022_jp_2"),
    *("iso2022_jp_2004", "iso2022_jp_3", "iso2022_jp_ext", "euc_kr", "cp949", "johab", "iso2022_kr"),
)
ENCODINGS: Final = frozenset(codecs.lookup(name).name for name in _NAMES)


def encoding_named(name: str) -> str | None:
    """Return the encoding of a name such as `latin-1`, as Python calls it; `None` if it is none of text."""
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return found if found in ENCODINGS else None
