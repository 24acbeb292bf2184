"""A client that answers from a script, for failures that no engine makes at will."""

from collections.abc import Callable, Sequence
from typing import Any

from botocore.exceptions import ClientError

Answer = dict[str, Any] | Exception | Callable[[dict[str, Any]], dict[str, Any]]


class Scripted:
    """Replaces a boto3 client: returns the answers in turn (the last one for ever), and keeps the requests."""

    def __init__(self, *answers: Answer) -> None:
        self.answers = list(answers)
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def __getattr__(self, operation: str) -> Callable[..., dict[str, Any]]:
        def call(**request: Any) -> dict[str, Any]:
            self.calls.append((operation, request))
            answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
            if isinstance(answer, Exception):
                raise answer
            return answer if isinstance(answer, dict) else answer(request)

        return call


def service_error(code: str, status: int = 400, **more: Any) -> ClientError:
    """Return the error that boto3 raises for a service's error code."""
    metadata: Any = {"HTTPStatusCode": status}
    response: Any = {"Error": {"Code": code, "Message": code}, "ResponseMetadata": metadata, **more}
    return ClientError(response, "Operation")


def cancelled(reasons: Sequence[str]) -> ClientError:
    """Return the error of a transaction that was given up for these reasons."""
    return service_error("TransactionCanceledException", CancellationReasons=[{"Code": code} for code in reasons])
