"""Which texts people and shops can send: printable ones, with the joiners of scripts that need them."""

import pytest

from quarterhour.model import fields
from quarterhour.registry.agencies.agency import address

PERSIAN = "\u0646\u0634\u0631\u0647\u200c\u0647\u0627"
"""Two parts of a word, with a zero-width non-joiner between them."""
FAMILY = "\U0001f469\u200d\U0001f4bb"
"""An emoji of two, with a zero-width joiner between them."""


@pytest.mark.parametrize("text", [PERSIAN, f"Books {FAMILY} Ltd", f"{PERSIAN} {PERSIAN}"])
def test_a_text_has_the_joiners_of_its_script(text: str) -> None:
    assert fields.text(text) == text
    assert address(f"{text}\nBristol") == f"{text}\nBristol"


@pytest.mark.parametrize(
    "text",
    [
        *("a\u200cb", "a\u200db", f"{PERSIAN}\u200c", f"\u200d{PERSIAN}"),
        *("\u0646\u200c\u200c\u0647", "\u0646\u200b\u0647", "\u202eab"),
    ],
)
def test_no_other_character_is_invisible(text: str) -> None:
    assert fields.text(text) is None
    assert address(text) is None


def test_a_name_that_is_part_of_a_key_has_no_joiner() -> None:
    assert fields.name(PERSIAN) is None
    assert fields.name(PERSIAN.replace("\u200c", "")) is not None
