"""The made-up people who can sign in: one for each kind of reader."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Person:
    """A person: their name, what they do, and the claims of their access token."""

    name: str
    work: str
    claims: Mapping[str, str | list[str]]


PEOPLE: Final[Mapping[str, Person]] = {
    "controller": Person("Carla Moreno", "controller", {"role": "finance"}),
    "support": Person("Noor Haddad", "support", {"role": "support"}),
    "auditor": Person("Tomás Ferreira", "auditor", {"role": "auditor"}),
    "agency": Person("Jonas Weber", "works at agency 42", {"role": "agency", "agency": "42"}),
    "agencies": Person("Amina Yusuf", "works at agencies 42 and 43", {"role": "agency", "agency": ["42", "43"]}),
}
"""The people by the subject (``sub``) of their tokens."""
