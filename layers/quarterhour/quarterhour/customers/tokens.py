"""Customers by token and by name, as the features that need them see the vault.

Without a vault, customers are stored by name, and nothing is looked up here.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from quarterhour.aws.items import chunks
from quarterhour.aws.retries import attempts
from quarterhour.aws.workers import Workers
from quarterhour.customers.keys import QUOTED, is_token
from quarterhour.customers.store import VaultStore
from quarterhour.model import clock
from quarterhour.model.errors import UnavailableError
from quarterhour.model.settings import Environment

if TYPE_CHECKING:
    from datetime import datetime

    from mypy_boto3_dynamodb import DynamoDBClient

REMEMBERED_FOR: Final = timedelta(minutes=1)
"""How long a function takes a token that it has read for the customer's."""
_CREATED_WITHIN: Final = timedelta(seconds=10)
"""How long a request makes keys for new customers, so that a slow vault leaves it time for its other events."""
_MOST_REMEMBERED: Final = 10_000
"""The most customers in a function's memory."""
_AT_ONCE: Final = 1000
"""The most customers of a response whose names are read together."""


def vault_of(env: Environment, client: "DynamoDBClient", workers: Workers) -> VaultStore | None:
    """Return the vault of a function's environment; ``None`` if the deployment has none."""
    table = env.optional("VAULT_TABLE", "the name of a table", str)
    return VaultStore(client, table, workers) if table else None


Tokens = Callable[[Collection[str]], Mapping[str, str]]
"""A function that returns the tokens of customers, as far as they can be read or made now."""


class CustomerTokens:
    """The tokens of customers; a customer who has none yet gets one."""

    def __init__(self, vault: VaultStore) -> None:
        self._vault = vault
        self._known: dict[str, tuple[str, datetime]] = {}

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

    def revealed(self, body: str) -> str:
        """Return a JSON document in which each token that is a whole string is its customer's name.

        The token of a forgotten customer stays.
        """
        tokens = list(dict.fromkeys(QUOTED.findall(body)))
        if not tokens:
            return body
        names = {token: name for some in chunks(tokens, _AT_ONCE) for token, name in self._vault.names(some).items()}
        return QUOTED.sub(lambda found: json.dumps(names.get(found[1], found[1])), body)

    def stored_as(self, customer: str) -> Sequence[str]:
        """Return the values of ``customer`` in stored data: the token, and the name in data from before the vault."""
        other = self._vault.names([customer]) if is_token(customer) else self._vault.tokens([customer])
        return [*other.values(), customer]


StoredAs = Callable[[str], Sequence[str]]
"""A function that returns the values that a customer has in stored data."""


def by_name(customer: str) -> Sequence[str]:
    """Return the customer's name, which stored data hold if there is no vault."""
    return [customer]


class Marks(NamedTuple):
    """By what the markers of distinct customers name them.

    ``of``: the token of each customer that is stored by name and has one. ``former``: the name of each token's
    customer, by which data from before the vault may have marked the customer.
    """

    of: Mapping[str, str]
    former: Mapping[str, str]


MarksOf = Callable[[Collection[str]], Marks]
"""A function that returns the marks of customers, as they are stored."""


def no_marks(_customers: Collection[str]) -> Marks:
    """Return no marks: without a vault, each customer is marked by the name."""
    return Marks({}, {})


class CustomerMarks:
    """Finds what customers are marked by, so that each counts once, whether stored by name or by token."""

    def __init__(self, vault: VaultStore) -> None:
        self._vault = vault
        self._moved = False

    def __call__(self, customers: Collection[str]) -> Marks:
        """Return the marks of customers, as they are stored. No key is made: a forgotten customer stays forgotten."""
        if not customers:
            return no_marks(customers)
        names = [one for one in customers if not is_token(one)]
        tokens = [one for one in customers if is_token(one)]
        of = self._vault.tokens(names) if names else {}
        return Marks(of, {**self._former(tokens), **{token: name for name, token in of.items()}})

    def _former(self, tokens: Collection[str]) -> Mapping[str, str]:
        """Return the names of tokens' customers; none once all markers from before the vault are moved."""
        if not tokens or self._moved:
            return {}
        self._moved = "complete" in self._vault.state()
        return {} if self._moved else self._vault.names(tokens)
