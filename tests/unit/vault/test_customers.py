"""New customers while the vault is slow: a request keeps the time for its other events."""

from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from quarterhour.aws.items import to_item
from quarterhour.aws.workers import Workers
from quarterhour.model.clock import ManualClock, using
from quarterhour.vault.customers import CustomerTokens
from quarterhour.vault.keys import name_key, token_of
from quarterhour.vault.store import VaultStore

KEY = "00" * 32


class Throttled:
    """A table that knows ann, and refuses each write after a while."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803 - boto3's name
        ann = {**to_item(dict(name_key("ann"))), "key": {"S": KEY}}
        asked = RequestItems["vault"]["Keys"]
        return {"Responses": {"vault": [ann] if to_item(dict(name_key("ann"))) in asked else []}}

    def transact_write_items(self, **_: object) -> None:
        self._clock.advance(timedelta(seconds=0.3))
        raise ClientError({"Error": {"Code": "ThrottlingException"}}, "TransactWriteItems")


def test_a_throttled_vault_takes_no_more_than_its_share_of_a_requests_time() -> None:
    clock = ManualClock(datetime(2026, 10, 23, 1, 30, tzinfo=UTC))
    with using(clock):
        tokens = CustomerTokens(VaultStore(Throttled(clock), "vault", Workers(1)))  # type: ignore[arg-type]
        began = clock.now()
        assert tokens(["ann", *(f"new {n}" for n in range(500))]) == {"ann": token_of(KEY, "ann")}
        assert clock.now() - began < timedelta(seconds=10), "an ingest has 25 seconds"
