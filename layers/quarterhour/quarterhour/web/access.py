"""Authentication and authorization: who sends a request, and which agency they may see.

Who may read a document or a report is decided in ``documents/permissions.py``, from the caller that this module names.

API Gateway authenticates a request by its IAM signature (a machine or an operator) or by a token of the JWT issuer (a
person of an agency). It passes the identity in the event. A request without an identity is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from quarterhour.aws.settings import Environment
from quarterhour.model.errors import ForbiddenError, UnauthenticatedError
from quarterhour.model.fields import is_stored_name, shown
from quarterhour.web.parameters import spellings

Variables = Mapping[str, str]
"""The variables of a request's path, still encoded."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request. ``name`` is an IAM principal's ARN, or a token's subject.

    ``agency`` is the only agency whose data a person may see. It is ``None`` for a machine, which may see everything.
    """

    name: str
    agency: str | None

    @property
    def is_machine(self) -> bool:
        """Whether the caller is a machine, which may see everything."""
        return self.agency is None

    def may_see(self, agency: str) -> bool:
        """Return whether the caller may see an agency's data."""
        return self.agency in {None, agency}

    def narrowed(self, agency: str | None) -> str | None:
        """Return the agency to show for a request of one agency or (``None``) of all; ``None`` shows all.

        Raises ``ForbiddenError`` if a person requests another agency than their own.
        """
        if agency is not None and not self.may_see(agency):
            raise ForbiddenError(f"your token is of another agency than {shown(str(agency))}")
        return self.agency or agency


Policy = Callable[[Caller, Variables], Mapping[str, Any]]
"""Admits a caller to a route, or raises ``ForbiddenError``; returns the variables of the path for the handler."""


class Gate:
    """Finds the caller of an HTTP API event."""

    def __init__(self, env: Environment) -> None:
        """Read from the environment which claim holds a person's agency, and whether this is ``sam local``.

        ``sam local`` has no authorizers and sets ``AWS_SAM_LOCAL``. There a caller without a token is a machine.
        """
        self._agency_claim = env.text("AGENCY_CLAIM")
        self._sam_local = env.variables.get("AWS_SAM_LOCAL") == "true"

    def caller(self, event: Mapping[str, Any]) -> Caller:
        """Return the caller of an event; raise ``UnauthenticatedError`` or ``ForbiddenError``."""
        match event["requestContext"].get("authorizer"):
            case {"jwt": {"claims": {**claims}}}:
                return _person(claims, self._agency_claim)
            case {"iam": {"userArn": str(arn)}} if arn:
                return Caller(arn, None)
            case _ if self._sam_local:
                return Caller("sam local", None)
            case _:
                raise UnauthenticatedError("the request has neither an IAM signature nor a verified token")


def _person(claims: Mapping[Any, Any], agency_claim: str) -> Caller:
    agency, subject = claims.get(agency_claim), claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise ForbiddenError("your token has no subject (sub)")
    if not isinstance(agency, str) or not is_stored_name(agency):
        raise ForbiddenError(f"your token names no agency: its claim {agency_claim} must be the name of one")
    return Caller(subject, agency)


def machines(caller: Caller, variables: Variables) -> Variables:
    """Admit machines only."""
    if not caller.is_machine:
        raise ForbiddenError("a person's token is not enough: sign the request with IAM")
    return variables


def everyone(_caller: Caller, variables: Variables) -> Variables:
    """Admit every caller; the handler shows each caller only their own data."""
    return variables


def own_agency(caller: Caller, variables: Variables) -> Mapping[str, Any]:
    """Admit machines, and people of the path's agency.

    The variable ``agency`` becomes the tuple of names that it can mean (see ``spellings``), without the names that the
    caller may not see. Without that filter, a person of agency ``50%`` could read the data of agency ``50%25``.
    """
    names = spellings(variables["agency"])
    own = tuple(name for name in names if caller.may_see(name))
    if not own:
        raise ForbiddenError(f"your token is of another agency than {shown(names[0])}")
    return {**variables, "agency": own}
