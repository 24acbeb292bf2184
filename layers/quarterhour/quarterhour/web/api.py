"""The responses of every route, as types: pages and problems."""

from typing import Generic, NotRequired, TypeVar

from typing_extensions import TypedDict

from quarterhour.model.api import Count, FieldProblem, Token

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
