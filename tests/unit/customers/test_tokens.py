"""Tokens of customers: what they are, what stands for whom, and that a retry stays one whatever is stored."""

import json
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from quarterhour.customers.keys import is_token, name_key, name_of, token_in, token_key, token_of
from quarterhour.customers.tokens import CustomerNames
from quarterhour.ledger.events.event import Event, read_event
from tests.support.events import sale

KEYS = st.binary(min_size=32, max_size=32).map(bytes.hex)
NAMES = st.text(st.characters(blacklist_categories=("C", "Z")), min_size=1, max_size=200)


def sold(**data: str) -> Event:
    event = read_event(sale("s1", "10.00", **data))
    assert isinstance(event, Event)
    return event


@given(NAMES, NAMES, KEYS, KEYS)
def test_a_token_is_of_one_customer_and_one_key(name: str, other: str, key: str, other_key: str) -> None:
    token = token_of(key, name)
    assert is_token(token)
    assert token == token_of(key, name)
    assert (token == token_of(key, other)) == (name == other)
    assert (token == token_of(other_key, name)) == (key == other_key)
    assert (name_of(name_key(name)), token_in(token_key(token))) == (name, token)


@given(name=NAMES, key=KEYS, later_key=KEYS)
def test_an_event_equals_what_is_stored_of_it_by_any_token_and_no_other_content(
    name: str, key: str, later_key: str
) -> None:
    """Before and after forgetting."""
    assume(not is_token(name))
    event = sold(customer=name)
    stored, sent = (event.with_token(token_of(one, name)) for one in (key, later_key))
    for length in (32, 64):
        assert sent.has_digest(stored.digest[:length])
        assert not replace(sent, amount=sent.amount + 1).has_digest(stored.digest[:length])
    assert sold().digest == stored.digest, "a hash of a name would show whose a token is"


class Names:
    """A vault that knows the names of some tokens."""

    def __init__(self, known: dict[str, str]) -> None:
        self.known = known

    def names(self, tokens: list[str]) -> dict[str, str]:
        return {token: self.known[token] for token in tokens if token in self.known}


@given(st.dictionaries(KEYS, NAMES, max_size=5), KEYS)
def test_each_token_in_a_response_is_shown_by_its_name_and_a_forgotten_one_stays(
    customers: dict[str, str], forgotten: str
) -> None:
    assume(forgotten not in customers)
    known = {token_of(key, name): name for key, name in customers.items()}
    lost = token_of(forgotten, "gone")
    body = json.dumps({"items": [{"customer": one, "text": f"see {one}"} for one in [*known, lost]]})
    shown = json.loads(CustomerNames(Names(known)).revealed(body))["items"]  # type: ignore[arg-type]
    assert [one["customer"] for one in shown] == [*known.values(), lost]
    assert [one["text"] for one in shown] == [f"see {one}" for one in [*known, lost]]
