"""Authentication and authorization: who sends a request, what their roles allow, and which agencies they may see.

Who may read a document or a report is decided in ``registry/documents/permissions.py``, from the caller that this
module names.

API Gateway authenticates a request by its IAM signature (a machine or an operator) or by a token of the JWT issuer (a
person). It passes the identity in the event. A request without an identity is refused.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from quarterhour.model import texts
from quarterhour.model.errors import ForbiddenError, UnauthenticatedError
from quarterhour.model.fields import NAME, is_name, shown
from quarterhour.model.settings import Environment
from quarterhour.web import parameters
from quarterhour.web.parameters import Parameters, invalid, spellings

if TYPE_CHECKING:
    from quarterhour.web import api

Variables = Mapping[str, str]
"""The variables of a request's path, still encoded."""


class Role(StrEnum):
    """What a person does: works at agencies, or is one of the marketplace's staff."""

    AGENCY = "agency"
    """Sees their own agencies' data, writes messages about it, accepts and disputes statements."""
    FINANCE = "finance"
    """Sees everything, changes the status of statements, resolves disputes, registers agencies, writes rate cards.

    Records payments, adjustments and re-ratings, enters exchange rates, writes messages, and changes the schedule of
    reports.
    """
    SUPPORT = "support"
    """Sees everything, writes messages."""
    AUDITOR = "auditor"
    """Sees everything."""


IsVisible = Callable[[str, "Caller"], bool]
"""A function that returns whether something of this name exists and the caller may see it."""
Search = Callable[[str, "Caller", int], Mapping[str, object]]
"""A function that returns what a text names exactly, by kind: at most so many, and only what the caller may see."""

STAFF: Final = frozenset({Role.FINANCE, Role.SUPPORT, Role.AUDITOR})
"""The roles of the marketplace's staff, who see everything."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request. ``name`` is an IAM principal's ARN, or a token's subject.

    ``roles`` are a person's roles: ``None`` for a machine, which may do and see everything. ``agencies`` are those
    whose data a person with the role ``agency`` may see.
    """

    name: str
    roles: frozenset[Role] | None
    agencies: frozenset[str] = frozenset()

    @property
    def is_machine(self) -> bool:
        """Whether the caller is a machine, which may do and see everything."""
        return self.roles is None

    @property
    def is_of_marketplace(self) -> bool:
        """Whether the caller is a machine or one of the marketplace's staff, who see everything."""
        return self.has(STAFF)

    def described(self) -> "api.Caller":
        """Return the caller as the API shows them to themselves: ``machine``, ``name``, sorted roles and agencies."""
        roles = sorted(self.roles or ())
        return {"name": self.name, "machine": self.is_machine, "roles": roles, "agencies": sorted(self.agencies)}

    def has(self, roles: frozenset[Role]) -> bool:
        """Return whether the caller is a machine, or has one of these roles."""
        return self.roles is None or not roles.isdisjoint(self.roles)

    def first_role(self, roles: Sequence[Role]) -> Role | None:
        """Return the first of these roles that the caller has; ``None`` for a machine."""
        return next((role for role in roles if role in self.roles), None) if self.roles is not None else None

    def may_see(self, agency: str) -> bool:
        """Return whether the caller may see an agency's data."""
        return self.is_of_marketplace or agency in self.agencies

    def narrowed(self, agency: str | None) -> str | None:
        """Return the agency to show for a request of one agency or (``None``) of all; ``None`` shows all.

        Raises ``ForbiddenError`` if a person requests another agency than their own, and ``InvalidError`` if a person
        of several agencies names none.
        """
        if agency is None and not self.is_of_marketplace:
            if len(self.agencies) > 1:
                raise invalid("agency", "is missing", f"one of your agencies: {', '.join(sorted(self.agencies))}")
            (agency,) = self.agencies
        if agency is not None and not self.may_see(agency):
            raise ForbiddenError(f"your token is of another agency than {shown(str(agency))}")
        return agency

    def requested_agency(self, query: Parameters) -> str | None:
        """Return the agency to show for a request, by its parameter ``agency``; raises what ``narrowed`` raises."""
        return self.narrowed(query.optional("agency", NAME, parameters.name, None))


@dataclass(frozen=True, slots=True)
class Policy:
    """Admits machines to a route, and people with one of its roles.

    ``own``: the path names an agency, and people of agencies are admitted to their own only.
    """

    roles: frozenset[Role]
    own: bool = False

    def __call__(self, caller: Caller, variables: Variables) -> Mapping[str, Any]:
        """Return the variables of the path for the handler; raise ``ForbiddenError`` for a caller not admitted."""
        if not caller.has(self.roles):
            raise ForbiddenError(
                f"your role is not enough: this takes {' or '.join(sorted(self.roles))}"
                if self.roles
                else "a person's token is not enough: sign the request with IAM"
            )
        return _of_own_agency(caller, variables) if self.own else variables


machines: Final = Policy(frozenset())
"""Admits machines only."""
everyone: Final = Policy(frozenset(Role))
"""Admits every caller; the handler shows each caller only what they may see."""
own_agency: Final = Policy(frozenset(Role), own=True)
"""Admits machines and staff, and people of the path's agency."""
staff: Final = Policy(STAFF)
"""Admits machines and staff."""


def people(*roles: Role) -> Policy:
    """Return the policy that admits machines, and people with one of these roles."""
    return Policy(frozenset(roles))


class Gate:
    """Finds the caller of an HTTP API event."""

    def __init__(self, env: Environment) -> None:
        """Read from the environment which claims hold a person's agencies and roles, and whether this is ``sam local``.

        Without a claim for roles, every person has the role ``agency``. ``sam local`` has no authorizers and sets
        ``AWS_SAM_LOCAL``. There a caller without a token is a machine.
        """
        self._agency_claim = env.text("AGENCY_CLAIM")
        self._role_claim = env.variables.get("ROLE_CLAIM", "")
        self._sam_local = env.variables.get("AWS_SAM_LOCAL") == "true"

    def caller(self, event: Mapping[str, Any]) -> Caller:
        """Return the caller of an event; raise ``UnauthenticatedError`` or ``ForbiddenError``."""
        match event["requestContext"].get("authorizer"):
            case {"jwt": {"claims": {**claims}}}:
                return self._person(claims)
            case {"iam": {"userArn": str(arn)}} if arn:
                return Caller(arn, None)
            case _ if self._sam_local:
                return Caller("sam local", None)
            case _:
                raise UnauthenticatedError("the request has neither an IAM signature nor a verified token")

    def _person(self, claims: Mapping[Any, Any]) -> Caller:
        subject = claims.get("sub")
        if not isinstance(subject, str) or not subject:
            raise ForbiddenError("your token has no subject (sub)")
        roles = self._roles(claims)
        return Caller(texts.of_name(subject), roles, self._agencies(claims) if Role.AGENCY in roles else frozenset())

    def _roles(self, claims: Mapping[Any, Any]) -> frozenset[Role]:
        if not self._role_claim:
            return frozenset({Role.AGENCY})
        values = _values(claims.get(self._role_claim))
        if not values <= set(Role):
            raise ForbiddenError(
                f"your token has no role, or one that is not known: its claim {self._role_claim} must hold "
                f"one or more of {', '.join(Role)}"
            )
        roles = frozenset(map(Role, values))
        if Role.AGENCY in roles and len(roles) > 1:
            # With both, one person could issue a statement for the marketplace and accept it for the agency.
            raise ForbiddenError("your token has the role agency and one of staff: nobody acts for both sides")
        return roles

    def _agencies(self, claims: Mapping[Any, Any]) -> frozenset[str]:
        values = _values(claims.get(self._agency_claim))
        if not all(map(is_name, values)):
            raise ForbiddenError(f"your token names no agency: its claim {self._agency_claim} must be the name of one")
        return values


def _values(claim: object) -> frozenset[str]:
    """Return the values of a claim: of a text, or of a list, which API Gateway passes as text: ``[42 43]``.

    A missing claim has the empty text as its value.
    """
    if not isinstance(claim, str):
        return frozenset({""})
    claim = texts.of_name(claim)
    is_list = claim.startswith("[") and claim.endswith("]")
    return frozenset(claim[1:-1].split(" ")) if is_list else frozenset({claim})


def _of_own_agency(caller: Caller, variables: Variables) -> Mapping[str, Any]:
    """Return the variables with the names that ``agency`` can mean (see ``spellings``) and the caller may see.

    Without that filter, a person of agency ``50%`` could read the data of agency ``50%25``.
    """
    names = spellings(variables["agency"])
    own = tuple(name for name in names if caller.may_see(name))
    if not own:
        raise ForbiddenError(f"your token is of another agency than {shown(names[0])}")
    return {**variables, "agency": own}
