"""Claiming events: partial responses, retries, failed conditions and lost responses."""

from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.workers import Workers
from quarterhour.ledger.recording.claim_items import claim_item, claim_of
from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.claims import Claim, Claimed
from quarterhour.ledger.recording.linked import Lost
from quarterhour.ledger.recording.pricing import CommissionTerms
from quarterhour.model.identifiers import Identity
from tests.support.builders import (
    AT,
    alone,
    amounts,
    claim,
    event,
    identities,
    instants,
    linked_of,
    settings,
    utc,
)
from tests.support.script import Scripted, cancelled, service_error

TIMEOUT = ReadTimeoutError(endpoint_url="table")
THROTTLED = service_error("ProvisionedThroughputExceededException")


def store(client: Scripted) -> ClaimStore:
    stub: Any = client
    return ClaimStore(stub, "Identity", "Entity", Workers(1))


def in_time() -> bool:
    return True


pytestmark = pytest.mark.usefixtures("hands")


@given(
    identity=identities,
    at=instants,
    kept=st.none() | st.integers(1, 4000),
    terms=st.builds(CommissionTerms, amounts(), st.sampled_from(["", "card 3"]), st.sampled_from(["", "named=1"])),
    amount=st.none() | amounts(),
    time=st.none() | instants,
    attributes=st.sampled_from([None, '{"traceparent":"00-1"}']),
    recorded_by=st.sampled_from([None, "fay"]),
    approved_by=st.sampled_from([None, "bob"]),
)
def test_a_claim_is_read_back_from_its_item(  # noqa: PLR0913, PLR0917 - all that varies in a claim
    identity: Identity,
    at: datetime,
    kept: int | None,
    terms: CommissionTerms,
    amount: Decimal | None,
    time: datetime | None,
    attributes: str | None,
    recorded_by: str | None,
    approved_by: str | None,
) -> None:
    agreed = settings(shards=7, retention=timedelta(days=kept) if kept else None)
    claimed = replace(event(), identity=identity, time=time, attributes=attributes)
    claimed = replace(claimed, recorded_by=recorded_by, approved_by=approved_by)
    made = alone(Claim.of(claimed, at, agreed, terms), 7)._replace(amount=amount)
    item = claim_item(made, "request-1")
    # The ledger keeps milliseconds, and so does the claim.
    assert claim_of(item) == made


INSERTED: dict[str, Any] = {"Responses": [{}]}


def failed(*codes: str | None) -> dict[str, Any]:
    """Return the response to an insertion: an error code for each statement, or ``None``."""
    return {"Responses": [{"Error": {"Code": code, "Message": code}} if code else {} for code in codes]}


def existing(made: Claim, request: str) -> dict[str, Any]:
    """Return the response to the read of a claim."""
    return {"Responses": {"Identity": [claim_item(made, request)]}}


DUPLICATE = failed("DuplicateItem")


def test_an_existing_claim_is_returned_unchanged() -> None:
    earlier = claim(at=AT - timedelta(hours=1))
    client = Scripted(DUPLICATE, existing(earlier, "request-0"))
    assert store(client).claim([claim()], "request-1", in_time) == [Claimed(earlier, fresh=False)]
    _, read = client.calls
    assert read[1]["RequestItems"]["Identity"]["ConsistentRead"] is True


def test_the_existing_claim_is_read_whatever_the_error_holds() -> None:
    earlier = claim(at=AT - timedelta(hours=1))
    error = {"Code": "DuplicateItem", "Item": claim_item(claim(), "request-1")}
    client = Scripted({"Responses": [{"Error": error}]}, existing(earlier, "request-0"))
    assert store(client).claim([claim()], "request-1", in_time) == [Claimed(earlier, fresh=False)]


@pytest.mark.parametrize("first_try", [TIMEOUT, failed("InternalServerError"), failed("ThrottlingError")])
def test_a_claim_that_took_effect_though_its_response_was_lost_is_still_this_requests_own(first_try: Any) -> None:
    client = Scripted(first_try, DUPLICATE, existing(claim(), "request-1"))
    assert store(client).claim([claim()], "request-1", in_time) == [Claimed(claim(), fresh=True)]


def test_all_existing_claims_of_a_request_are_read_in_one_call() -> None:
    sold = [claim(event(str(number))) for number in range(60)]
    earlier = {"Responses": {"Identity": [claim_item(one, "request-0") for one in sold]}}
    client = Scripted(*[failed(*["DuplicateItem"] * count) for count in (25, 25, 10)], earlier)
    assert store(client).claim(sold, "request-1", in_time) == [Claimed(one, fresh=False) for one in sold]
    assert [name for name, _ in client.calls] == ["batch_execute_statement"] * 3 + ["batch_get_item"]


@pytest.mark.parametrize("read", [THROTTLED, {"Responses": {"Identity": []}}])
def test_an_existing_claim_that_cannot_be_read_leaves_its_event_for_a_retry(read: Any) -> None:
    client = Scripted(failed("DuplicateItem", None), read)
    first, second = claim(event("1")), claim(event("2"))
    assert store(client).claim([first, second], "request-1", in_time) == [None, Claimed(second, fresh=True)]


def test_an_existing_claim_of_a_refund_is_returned_with_whether_this_request_made_it() -> None:
    refund = linked_of(event("r1", "sale.refunded", amount="-1", refers_to="order-1"), claim())
    for request, fresh in (("request-0", False), ("request-1", True)):
        reasons = [
            {"Code": "ConditionalCheckFailed", "Item": claim_item(refund.claim, request)},
            {"Code": "None"},
        ]
        client = Scripted(TIMEOUT, service_error("TransactionCanceledException", CancellationReasons=reasons))
        assert store(client).claim_linked(refund, "request-1") == Claimed(refund.claim, fresh)


def test_a_refund_whose_sale_has_changed_is_lost_and_planned_again() -> None:
    refund = linked_of(event("r1", "sale.refunded", amount="-1", refers_to="order-1"), claim())
    for reasons in (["None", "ConditionalCheckFailed"], ["TransactionConflict", "None"]):
        assert store(Scripted(cancelled(reasons))).claim_linked(refund, "request-1") == Lost()


def test_the_other_claims_are_made_where_one_fails() -> None:
    client = Scripted(failed("ThrottlingError", None), failed("ThrottlingError"))
    first, second = claim(event("1")), claim(event("2"))
    assert store(client).claim([first, second], "request-1", in_time) == [None, Claimed(second, fresh=True)]


def test_a_claim_that_can_never_be_made_raises_an_error() -> None:
    with pytest.raises(ClientError, match="AccessDenied"):
        store(Scripted(failed("AccessDenied"))).claim([claim()], "request-1", in_time)


def test_no_claim_is_made_after_the_time_is_over() -> None:
    client = Scripted(INSERTED)
    left = iter([True, False])
    first, second = claim(event("1")), claim(event("2"))
    assert store(client).claim([first, second], "request-1", lambda: next(left)) == [Claimed(first, fresh=True), None]
    assert len(client.calls) == 1


def test_a_claim_that_another_request_moved_is_not_moved_again() -> None:
    old = claim()
    new = alone(old.moved(event(), utc("02:00"), settings()))
    assert store(Scripted({})).move([(old, new)]) == [new]
    assert store(Scripted(service_error("ConditionalCheckFailedException"))).move([(old, new)]) == []
    assert store(Scripted(THROTTLED)).move([(old, new)]) == []
