"""The gate: the caller of a request, and requests that it refuses."""

from typing import Any

import pytest

from quarterhour.aws.settings import Environment
from quarterhour.model.errors import ForbiddenError, UnauthenticatedError
from quarterhour.web.access import Caller, Gate

ARN = "arn:aws:iam::123456789012:user/shop"
UNAUTHENTICATED: dict[str, Any] = {"requestContext": {}}


def gate(**variables: str) -> Gate:
    return Gate(Environment({"AGENCY_CLAIM": "agency", **variables}))


def authorized(**authorizer: Any) -> dict[str, Any]:
    return {"requestContext": {"authorizer": authorizer}}


def token(**claims: Any) -> dict[str, Any]:
    return authorized(jwt={"claims": {"sub": "ann", "agency": "42", **claims}})


def test_a_signed_request_is_from_a_machine() -> None:
    assert gate().caller(authorized(iam={"userArn": ARN})) == Caller(ARN, None)


def test_a_verified_token_is_from_a_person_of_its_agency() -> None:
    assert gate().caller(token(agency="7")) == Caller("ann", "7")


@pytest.mark.parametrize("variables", [{}, *({"AWS_SAM_LOCAL": text} for text in ("false", "False", "0", "", "TRUE"))])
@pytest.mark.parametrize(
    "event", [UNAUTHENTICATED, authorized(), authorized(iam={"userArn": ""}), authorized(iam={}), authorized(jwt={})]
)
def test_an_unauthenticated_request_is_refused_outside_sam_local(
    variables: dict[str, str], event: dict[str, Any]
) -> None:
    with pytest.raises(UnauthenticatedError):
        gate(**variables).caller(event)


def test_under_sam_local_every_caller_without_a_token_is_a_machine() -> None:
    local = gate(AWS_SAM_LOCAL="true")
    assert local.caller(UNAUTHENTICATED) == Caller("sam local", None)
    assert local.caller(token()) == Caller("ann", "42")


@pytest.mark.parametrize("claims", [{"sub": ""}, {"sub": None}, {"agency": ""}, {"agency": ["42"]}, {"agency": "4#2"}])
def test_a_token_without_a_person_or_an_agency_is_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(ForbiddenError):
        gate(AWS_SAM_LOCAL="true").caller(token(**claims))
