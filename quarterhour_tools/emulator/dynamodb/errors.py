"""The errors that DynamoDB answers with."""

from typing import Any


class CallError(Exception):
    """A call is refused: ``code`` is the error's name in AWS, ``more`` what the answer holds besides the message."""

    def __init__(self, code: str, message: str, **more: Any) -> None:  # noqa: ANN401 - JSON
        super().__init__(message)
        self.code = code
        self.message = message
        self.more = more


class InvalidCallError(CallError):
    """A call that DynamoDB refuses as a whole: ``ValidationException``."""

    def __init__(self, message: str) -> None:
        super().__init__("ValidationException", message)


class FailedConditionError(CallError):
    """The condition of a write does not hold."""

    def __init__(self, item: dict[str, Any] | None) -> None:
        """``item``: the existing item, if the call asks for it."""
        super().__init__("ConditionalCheckFailedException", "The conditional request failed", **_holding(item))


def _holding(item: dict[str, Any] | None) -> dict[str, Any]:
    return {"Item": item} if item else {}
