"""The patterns of maps, found in time that grows with the length of a text alone, whatever a map says."""

import re
from collections.abc import Callable
from typing import Final

LONGEST: Final = 500
"""The most characters of a pattern."""
_MANY: Final = re.compile(r"\{[0-9]{5}")
"""A number of repetitions that RE2 takes for plain text, as it is no number to it."""
_MEMORY: Final = 1 << 17
"""The bytes that a pattern may take: as many bound the steps for each character."""


def found_by(pattern: str) -> Callable[[str], bool]:
    """Return whether a text holds what a pattern of RE2 describes; raise `ValueError` if it is none."""
    import re2  # noqa: PLC0415 - few maps have a pattern

    if len(pattern) > LONGEST:
        raise ValueError(f"a pattern has at most {LONGEST} characters")
    if _MANY.search(pattern):
        raise ValueError(f"{pattern!r} is not a pattern of RE2: it repeats too often")
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        search = re2.compile(pattern, options).search
    except (re2.error, OverflowError, ValueError) as error:
        why = error.args[0] if error.args else error
        said = why.decode("utf-8", "replace") if isinstance(why, bytes) else str(why)
        raise ValueError(f"{pattern!r} is not a pattern of RE2: {said}") from None
    return lambda text: search(text) is not None
