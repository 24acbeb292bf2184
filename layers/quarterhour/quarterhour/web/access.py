"""Who sends a request, and what they may see: the one place where that is decided.

API Gateway proves who it is, by IAM's signature (a machine, or an operator) or by a token of the JWT issuer (a person
of an agency), and hands that over in the event. A request that it has let through unproven is refused.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from quarterhour.aws.settings import Environment
from quarterhour.model.errors import ForbiddenError, UnauthenticatedError
from quarterhour.model.fields import is_name, shown
from quarterhour.web.parameters import spellings

Variables = Mapping[str, str]
"""The variables of a request's path, as they came."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request: an IAM principal's ARN, or a token's subject.

    ``agency`` is the one whose matters a person may see; ``None`` stands for a machine, which may see everything.
    """

    name: str
    agency: str | None

    @property
    def is_machine(self) -> bool:
        """Whether nothing is kept from the caller."""
        return self.agency is None

    def may_see(self, agency: str) -> bool:
        """Tell whether an agency's matters are the caller's to see."""
        return self.agency in {None, agency}

    def narrowed(self, agency: str | None) -> str | None:
        """Return the agency to show, where one is asked for or (``None``) all are; ``None`` shows all.

        Raises ``ForbiddenError`` where a person asks for another agency than their own.
        """
        if agency is not None and not self.may_see(agency):
            raise ForbiddenError(f"your token is of another agency than {shown(str(agency))}")
        return self.agency or agency


Policy = Callable[[Caller, Variables], Mapping[str, Any]]
"""Lets a caller through to a route, or raises ``ForbiddenError``; returns the variables that the route is to see."""


class Gate:
    """Tells who has sent an HTTP API event."""

    def __init__(self, env: Environment) -> None:
        """Take from the environment which claim holds a person's agency, and whether this is ``sam local``.

        ``sam local`` has no authorizers and says so by a variable of its own: there everyone counts as a machine.
        """
        self._agency_claim = env.text("AGENCY_CLAIM")
        self._sam_local = env.variables.get("AWS_SAM_LOCAL") == "true"

    def caller(self, event: Mapping[str, Any]) -> Caller:
        """Return who has sent an event; raise ``UnauthenticatedError`` or ``ForbiddenError``."""
        match event["requestContext"].get("authorizer"):
            case {"jwt": {"claims": {**claims}}}:
                return _person(claims, self._agency_claim)
            case {"iam": {"userArn": str(arn)}} if arn:
                return Caller(arn, None)
            case _ if self._sam_local:
                return Caller("sam local", None)
            case _:
                raise UnauthenticatedError("the request is neither signed for IAM nor carries a token that was checked")


def _person(claims: Mapping[Any, Any], agency_claim: str) -> Caller:
    agency, subject = claims.get(agency_claim), claims.get("sub")
    if not isinstance(subject, str) or not subject:
        raise ForbiddenError("your token has no subject (sub)")
    if not isinstance(agency, str) or not is_name(agency):
        raise ForbiddenError(f"your token names no agency: its claim {agency_claim} must hold one, as text")
    return Caller(subject, agency)


def machines(caller: Caller, variables: Variables) -> Variables:
    """Let machines through, and no person."""
    if not caller.is_machine:
        raise ForbiddenError("a person's token does not open this: it needs a request signed for IAM")
    return variables


def everyone(_caller: Caller, variables: Variables) -> Variables:
    """Let everyone through: the route itself shows each caller only what is theirs."""
    return variables


def own_agency(caller: Caller, variables: Variables) -> Mapping[str, Any]:
    """Let machines through, and people of the path's agency.

    The variable ``agency`` becomes the spellings that it can have, of which a person gets only their own: otherwise
    ``50%2525`` could be shown to ``50%`` as it stands, the matter of an agency of that very name.
    """
    names = spellings(variables["agency"])
    own = tuple(name for name in names if caller.may_see(name))
    if not own:
        raise ForbiddenError(f"your token is of another agency than {shown(names[0])}")
    return {**variables, "agency": own}
