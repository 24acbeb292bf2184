"""Customers by token and by name, as the features that need them see the vault."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final, Self

from quarterhour.aws.items import chunks
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import attempts
from quarterhour.customers.keys import QUOTED, is_token
from quarterhour.customers.store import VaultStore
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError

if TYPE_CHECKING:
    from datetime import datetime

REMEMBERED_FOR: Final = timedelta(minutes=1)
"""How long a function takes a token that it has read for the customer's."""
_CREATED_WITHIN: Final = timedelta(seconds=10)
"""How long a request makes keys for new customers, so that a slow vault leaves it time for its other events."""
_MOST_REMEMBERED: Final = 10_000
"""The most customers in a function's memory."""
_AT_ONCE: Final = 1000
"""The most customers of a response whose names are read together."""


Tokens = Callable[[Collection[str]], Mapping[str, str]]
"""A function that returns the tokens of customers, as far as they can be read or made now."""


def no_tokens(_names: Collection[str]) -> Mapping[str, str]:
    """Return no token: of a function whose events hold tokens, so that it needs no vault."""
    return {}


class CustomerTokens:
    """The tokens of customers; a customer who has none yet gets one."""

    def __init__(self, vault: VaultStore) -> None:
        self._vault = vault
        self._known: dict[str, tuple[str, datetime]] = {}

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the tokens of a function."""
        return cls(VaultStore.of(resources))

    def __call__(self, names: Collection[str]) -> Mapping[str, str]:
        """Return the token of each customer; without those that cannot be read or made now."""
        now = clock.now()
        known = {name: one[0] for name in names if (one := self._known.get(name)) and now < one[1]}
        unknown = [name for name in names if name not in known]
        if not unknown:
            return known
        try:
            found = self._read_or_create(unknown)
        except UnavailableError:
            return known
        if len(self._known) > _MOST_REMEMBERED:
            self._known.clear()
        self._known |= {name: (token, now + REMEMBERED_FOR) for name, token in found.items()}
        return {**known, **found}

    def _read_or_create(self, names: Sequence[str]) -> dict[str, str]:
        found = self._vault.tokens(names)
        until = clock.now() + _CREATED_WITHIN

        def in_time() -> bool:
            return clock.now() < until

        # Again: another function may be about to make a key, so that none can be made, and none is there to read yet.
        for _ in attempts(in_time):
            new = [name for name in names if name not in found]
            if not new:
                break
            self._vault.create(new, in_time)
            # Read, not computed: another function may have made the key.
            found |= self._vault.tokens(new)
        return found


class CustomerNames:
    """Shows customers by name to those who may see names."""

    def __init__(self, vault: VaultStore) -> None:
        self._vault = vault

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the names of a function."""
        return cls(VaultStore.of(resources))

    def revealed(self, body: str) -> str:
        """Return a JSON document in which each token that is a whole string is its customer's name.

        The token of a forgotten customer stays.
        """
        tokens = list(dict.fromkeys(QUOTED.findall(body)))
        if not tokens:
            return body
        names = {token: name for some in chunks(tokens, _AT_ONCE) for token, name in self._vault.names(some).items()}
        return QUOTED.sub(lambda found: json.dumps(names.get(found[1], found[1])), body)

    def token_of(self, customer: str) -> str:
        """Return the token that stands for a customer in stored data; a customer without one is returned as given."""
        return customer if is_token(customer) else self._vault.tokens([customer]).get(customer, customer)


TokenOf = Callable[[str], str]
"""A function that returns the token that stands for a customer, given by name or token."""
