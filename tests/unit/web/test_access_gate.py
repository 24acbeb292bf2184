"""The gate: who has sent a request, and what opens nothing."""

from typing import Any

import pytest

from quarterhour.aws.settings import Environment
from quarterhour.model.errors import ForbiddenError, UnauthenticatedError
from quarterhour.web.access import Caller, Gate

ARN = "arn:aws:iam::123456789012:user/shop"
UNPROVEN: dict[str, Any] = {"requestContext": {}}


def gate(**variables: str) -> Gate:
    return Gate(Environment({"AGENCY_CLAIM": "agency", **variables}))


def proven(**authorizer: Any) -> dict[str, Any]:
    return {"requestContext": {"authorizer": authorizer}}


def token(**claims: Any) -> dict[str, Any]:
    return proven(jwt={"claims": {"sub": "ann", "agency": "42", **claims}})


def test_a_signed_request_is_a_machines() -> None:
    assert gate().caller(proven(iam={"userArn": ARN})) == Caller(ARN, None)


def test_a_checked_token_is_a_persons_of_its_agency() -> None:
    assert gate().caller(token(agency="7")) == Caller("ann", "7")


@pytest.mark.parametrize("variables", [{}, *({"AWS_SAM_LOCAL": text} for text in ("false", "False", "0", "", "TRUE"))])
@pytest.mark.parametrize("event", [UNPROVEN, proven(), proven(iam={"userArn": ""}), proven(iam={}), proven(jwt={})])
def test_what_nobody_has_proven_is_refused_unless_sam_local_says_that_it_runs(
    variables: dict[str, str], event: dict[str, Any]
) -> None:
    with pytest.raises(UnauthenticatedError):
        gate(**variables).caller(event)


def test_under_sam_local_everyone_counts_as_a_machine_but_a_token_still_tells_who_it_is() -> None:
    local = gate(AWS_SAM_LOCAL="true")
    assert local.caller(UNPROVEN) == Caller("sam local", None)
    assert local.caller(token()) == Caller("ann", "42")


@pytest.mark.parametrize("claims", [{"sub": ""}, {"sub": None}, {"agency": ""}, {"agency": ["42"]}, {"agency": "4#2"}])
def test_a_token_that_names_no_person_or_no_agency_opens_nothing(claims: dict[str, Any]) -> None:
    with pytest.raises(ForbiddenError):
        gate(AWS_SAM_LOCAL="true").caller(token(**claims))
