"""The errors a caller can act on: each tells the field, what was wrong and what would be right."""

from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """What is wrong with one field of the input."""

    field: str
    problem: str
    expected: str

    def as_dict(self) -> dict[str, str]:
        """Return the three parts under their names."""
        return asdict(self)


class QuarterhourError(Exception):
    """What Quarterhour raises on purpose."""


class SettingsError(QuarterhourError):
    """The function's environment lacks a setting or holds a bad one."""


class RequestError(QuarterhourError):
    """A request that cannot be served as it stands.

    ``status`` is the HTTP status, ``title`` the kind of problem, ``problems`` the fields to mend.
    """

    status = 400
    title = "Bad request"
    retry_after: int | None = None
    """Seconds after which the same request may succeed; ``None`` where it never will."""

    def __init__(self, detail: str, *problems: FieldProblem) -> None:
        super().__init__(detail)
        self.detail = detail
        self.problems = problems


class MalformedError(RequestError):
    """The body is not what its content type promises."""

    title = "Malformed body"


class InvalidError(RequestError):
    """A parameter does not fit."""

    title = "Invalid parameter"


class UnauthenticatedError(RequestError):
    """Nobody has proven who sends the request."""

    status = 401
    title = "Unauthenticated"


class ForbiddenError(RequestError):
    """Who sends the request may not do this, or see it."""

    status = 403
    title = "Forbidden"


class NotFoundError(RequestError):
    """What was asked for is not there."""

    status = 404
    title = "Not found"


class ConflictError(RequestError):
    """Another request has changed meanwhile what this one was to change."""

    status = 409
    title = "Conflict"


class TooLargeError(RequestError):
    """The request carries more than one request may."""

    status = 413
    title = "Too large"


class UnsupportedMediaTypeError(RequestError):
    """The content type is none of those taken."""

    status = 415
    title = "Unsupported media type"


class UnavailableError(RequestError):
    """Nothing was written, and the same request may succeed later."""

    status = 503
    title = "Unavailable"
    retry_after = 5


class SealedFileError(QuarterhourError):
    """A sealed file stands with other bytes than the ledger gives: a person must look."""


class LedgerItemError(QuarterhourError):
    """An item in the ledger is no posting: a person must look. The report stops, so that nothing is left out."""

    def __init__(self, place: str, problem: Exception) -> None:
        super().__init__(f"the ledger item {place} (partition, position) cannot be read as a posting: {problem!r}")


class OvertakenError(QuarterhourError):
    """Another run moved the checkpoint or the plan meanwhile; this one has nothing left to do."""
