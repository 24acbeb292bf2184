"""The errors that Quarterhour raises. An error of a request names the field, its problem and what is expected."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quarterhour.model import api


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """The problem of one field of the input, and what is expected there."""

    field: str
    problem: str
    expected: str

    def as_dict(self) -> "api.FieldProblem":
        """Return the JSON object that the API shows."""
        return {"field": self.field, "problem": self.problem, "expected": self.expected}


def in_words(problems: Iterable[FieldProblem]) -> str:
    """Return problems as one line of text."""
    return "; ".join(f"{one.field} {one.problem}: expected {one.expected}".strip() for one in problems)


class QuarterhourError(Exception):
    """The base class of the errors that Quarterhour raises."""


class SettingsError(QuarterhourError):
    """The function's environment lacks a setting, or a setting has an invalid value."""


class RequestError(QuarterhourError):
    """A request is refused.

    ``status`` is the HTTP status, ``title`` the kind of problem, ``problems`` the invalid fields.
    """

    status = 400
    title = "Bad request"
    retry_after: int | None = None
    """Seconds after which the same request may succeed; ``None`` if it never will."""

    def __init__(self, detail: str, *problems: FieldProblem) -> None:
        super().__init__(detail)
        self.detail = detail
        self.problems = problems


class MalformedError(RequestError):
    """The body is not in the format that its content type names."""

    title = "Malformed body"


class InvalidError(RequestError):
    """A parameter or a field of the body is invalid."""

    title = "Invalid parameter"


class UnauthenticatedError(RequestError):
    """The sender of the request is not authenticated."""

    status = 401
    title = "Unauthenticated"


class ForbiddenError(RequestError):
    """The sender of the request lacks the permission."""

    status = 403
    title = "Forbidden"


class NotFoundError(RequestError):
    """The requested resource does not exist."""

    status = 404
    title = "Not found"


class ConflictError(RequestError):
    """Another request has changed the same resource in the meantime."""

    status = 409
    title = "Conflict"


class GoneError(RequestError):
    """What the request needs was kept for a limited time, which is over."""

    status = 410
    title = "Gone"


class TooLargeError(RequestError):
    """The request exceeds a size limit."""

    status = 413
    title = "Too large"


class UnsupportedMediaTypeError(RequestError):
    """The route does not accept the content type."""

    status = 415
    title = "Unsupported media type"


class UnavailableError(RequestError):
    """The request cannot be completed now; the same request may succeed later and completes a half-done write."""

    status = 503
    title = "Unavailable"
    retry_after = 5


class AccountItemError(UnavailableError):
    """An account's item cannot be used: its schema is not known, or DynamoDB refuses its size.

    A later release wrote it, or somebody changed it by hand. Its records are parked, so nothing is lost.
    """


class SealedFileError(QuarterhourError):
    """A sealed file differs from the ledger: an operator must investigate."""


class LedgerItemError(QuarterhourError):
    """An item of the ledger is not a posting: an operator must investigate.

    The report stops there, so that no event is left out.
    """

    def __init__(self, place: str, problem: Exception) -> None:
        super().__init__(f"the ledger item {place} (partition, position) cannot be read as a posting: {problem!r}")


class HeldItemError(QuarterhourError):
    """An item of the Entity table is not the held event that it should be: an operator must investigate."""

    def __init__(self, place: str, problem: Exception) -> None:
        super().__init__(f"the item {place} (gsi1pk, gsi1sk) cannot be read as a held event: {problem!r}")


class ExecutionFailedError(QuarterhourError):
    """An execution of a state machine failed, timed out or was stopped; its steps may be started again."""

    def __init__(self, execution: str, status: str, error: str, cause: str) -> None:
        super().__init__(f"the execution {execution} has ended as {status}: {error}: {cause}; start it again")


class OvertakenError(QuarterhourError):
    """Another run has moved the checkpoint or the plan in the meantime, so this run ends."""
