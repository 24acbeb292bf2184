"""The responses of every route, as types: pages and problems."""

from typing import Generic, NotRequired, TypeVar

from typing_extensions import TypedDict

from quarterhour.model.api import Count, FieldProblem, Name, Token
from quarterhour.web.access import Role

T = TypeVar("T")


class Page(TypedDict, Generic[T]):
    """A page of a list: it can be short or empty even if another page follows."""

    items: list[T]
    next: Token | None
    """The parameter `next` of the following page; null on the last page."""


class Problem(TypedDict):
    """Problem details (RFC 9457)."""

    title: str
    status: Count
    detail: str
    request_id: str
    """Identifies the request in all logs; equal to the header `x-request-id`."""
    errors: NotRequired[list[FieldProblem]]
    """The fields to correct."""


class GatewayMessage(TypedDict):
    """An error response of API Gateway itself."""

    message: str | None


class Caller(TypedDict):
    """Who sends the request, and what they may do."""

    name: str
    """The ARN of a machine's IAM principal; the subject (`sub`) of a person's token."""
    machine: bool
    """Whether it is a machine, which may use every route that its IAM policy allows."""
    roles: list[Role]
    """A person's roles; none for a machine."""
    agencies: list[Name]
    """The agencies whose data a person with the role `agency` may see; none for staff and machines, who see all."""


class Reader(Caller):
    """Who sends the request, and what they need to know of the marketplace."""

    time_zone: str
    """The marketplace's time zone, in which its periods begin."""
    first_period: str | None
    """The first period with statements, by the settings; null if there is none."""
    upload_sources: list[str]
    """The sources from which people may upload sales, by the settings."""
    rounding: str
    """How half a minor unit is rounded, by the settings: `half-even` or `half-up`."""
