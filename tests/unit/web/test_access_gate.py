"""The gate: the caller of a request, and requests that it refuses."""

from typing import Any

import pytest

from quarterhour.model.errors import ForbiddenError, UnauthenticatedError
from quarterhour.model.settings import Environment
from quarterhour.web.access import Caller, Gate, Role
from tests.support.builders import one_of_staff, person
from tests.support.cases import cases
from tests.support.names import near

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
    assert gate().caller(token(agency="7")) == person("7")


@cases("variables", [{}, *({"AWS_SAM_LOCAL": text} for text in ("false", "False", "0", "", "TRUE"))])
@cases(
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
    assert local.caller(token()) == person("42")


@pytest.mark.parametrize("claims", [{"sub": ""}, {"sub": None}, {"agency": ""}, {"agency": ["42"]}, {"agency": "4#2"}])
def test_a_token_without_a_person_or_an_agency_is_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(ForbiddenError):
        gate(AWS_SAM_LOCAL="true").caller(token(**claims))


def test_a_list_of_agencies_is_read_as_api_gateway_passes_it() -> None:
    assert gate().caller(token(agency="[42 43]")) == person("42", "43")
    for agency in ("[]", "[42  43]", "[42 4#3]"):
        with pytest.raises(ForbiddenError):
            gate().caller(token(agency=agency))


@pytest.mark.parametrize("role", ["finance", "[finance auditor]", "unheard-of", None])
def test_without_a_claim_for_roles_everybody_is_of_an_agency(role: str | None) -> None:
    assert gate().caller(token(role=role)) == gate(ROLE_CLAIM="").caller(token(role=role)) == person("42")


@pytest.mark.parametrize(
    ("role", "caller"),
    [
        ("agency", person("42", name="fay")),
        ("[agency]", person("42", name="fay")),
        ("finance", one_of_staff(Role.FINANCE)),
        ("[support auditor]", one_of_staff(Role.SUPPORT, Role.AUDITOR)),
    ],
)
def test_the_roles_of_a_person_are_those_of_the_claim(role: str, caller: Caller) -> None:
    assert gate(ROLE_CLAIM="role").caller(token(sub="fay", role=role)) == caller


def test_staff_need_no_agency() -> None:
    fay = token(sub="fay", role="finance", agency=None)
    assert gate(ROLE_CLAIM="role").caller(fay) == one_of_staff(Role.FINANCE)


@cases(
    "role",
    [
        *("", "machine", "finance,auditor", "finance auditor", *near("finance"), *near("[finance]"), *near("agency")),
        *("[]", "[finance admin]", "[finance  auditor]", "[agency finance]", "[agency support]", "[agency auditor]"),
        *(None, ["finance"], {"finance": True}, True),
    ],
)
def test_an_unknown_role_no_role_and_both_sides_at_once_are_refused(role: object) -> None:
    for agency in ("42", None):
        with pytest.raises(ForbiddenError):
            gate(ROLE_CLAIM="role").caller(token(role=role, agency=agency))
