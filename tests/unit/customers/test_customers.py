"""New customers while the vault is slow, and while another function makes the key of one."""

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from quarterhour.aws.items import to_item
from quarterhour.aws.workers import Workers
from quarterhour.customers.keys import name_key, token_of
from quarterhour.customers.store import VaultStore
from quarterhour.customers.tokens import CustomerNames, CustomerTokens
from quarterhour.model.clock import ManualClock, using
from quarterhour.model.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

KEY = "00" * 32


class Table:
    """A table that holds the key of ann, once there is one."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self.knows_ann = True

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803 - boto3's name
        key = to_item(dict(name_key("ann")))
        found = self.knows_ann and key in RequestItems["vault"]["Keys"]
        return {"Responses": {"vault": [{**key, "key": {"S": KEY}}] if found else []}}


class Throttled(Table):
    """A table that refuses each write after a while."""

    def transact_write_items(self, **_: object) -> None:
        self._clock.advance(timedelta(seconds=0.3))
        raise ClientError({"Error": {"Code": "ThrottlingException"}}, "TransactWriteItems")


def test_a_throttled_vault_takes_no_more_than_its_share_of_a_requests_time() -> None:
    clock = ManualClock(datetime(2026, 10, 23, 1, 30, tzinfo=UTC))
    with using(clock):
        tokens = CustomerTokens(VaultStore(Throttled(clock), "vault", Workers(1)))  # type: ignore[arg-type]
        began = clock.now()
        assert tokens(["ann", *(f"new {n}" for n in range(500))]) == {"ann": token_of(KEY, "ann")}
        assert clock.now() - began < timedelta(seconds=15), "an ingest has 25 seconds"


class Denied(Table):
    """A table whose key is disabled."""

    def batch_get_item(self, RequestItems: dict[str, Any]) -> dict[str, Any]:  # noqa: N803 - boto3's name
        raise ClientError({"Error": {"Code": "KMSDisabledException"}}, f"BatchGetItem of {len(RequestItems)} tables")

    def transact_write_items(self, **_: object) -> None:
        raise ClientError({"Error": {"Code": "KMSDisabledException"}}, "TransactWriteItems")


def test_an_error_of_the_vault_is_said_as_unavailable_and_gives_no_token() -> None:
    clock = ManualClock(datetime(2026, 10, 23, 1, 30, tzinfo=UTC))
    with using(clock):
        vault = VaultStore(Denied(clock), "vault", Workers(1))  # type: ignore[arg-type]
        assert CustomerTokens(vault)(["ann"]) == {}
        calls: list[Callable[[], object]] = [
            lambda: CustomerNames(vault).token_of("ann"),
            lambda: CustomerNames(vault).revealed(f'"{token_of(KEY, "ann")}"'),
            lambda: vault.forget("ann", token_of(KEY, "ann"), "2026-10-23T01:30:00.000Z", {}),
        ]
        for call in calls:
            with pytest.raises(UnavailableError, match="the vault is not available: KMSDisabledException"):
                call()


class Contended(Table):
    """A table in which another transaction makes the key of ann: the first attempt to make one is in its way."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__(clock)
        self.knows_ann = False
        self._reasons = ["TransactionConflict", "ConditionalCheckFailed"]

    def transact_write_items(self, **_: object) -> None:
        reason = self._reasons.pop(0)
        self.knows_ann = not self._reasons
        response: Any = {"Error": {"Code": "TransactionCanceledException"}, "CancellationReasons": [{"Code": reason}]}
        raise ClientError(response, "TransactWriteItems")


def test_a_key_that_another_function_is_about_to_make_is_waited_for() -> None:
    clock = ManualClock(datetime(2026, 10, 23, 1, 30, tzinfo=UTC))
    with using(clock):
        tokens = CustomerTokens(VaultStore(Contended(clock), "vault", Workers(1)))  # type: ignore[arg-type]
        assert tokens(["ann"]) == {"ann": token_of(KEY, "ann")}
