"""The requests and responses about messages, as types."""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.messages.message import MAX_TEXT
from quarterhour.model.api import Instant, Name, Text, Token, constrained
from quarterhour.web.api import Page


class Redacted(TypedDict):
    """When and why the text of a message was removed."""

    at: Instant
    reason: Text


class Message(TypedDict):
    """A message about the subject of a thread."""

    user: Name
    role: NotRequired[Literal["agency", "finance", "support"]]
    """The role in which a person wrote it."""
    at: Instant
    id: Name
    text: str
    """Empty, if it was removed."""
    redacted: NotRequired[Redacted]


class Messages(Page[Message]):
    """A page of messages, with tokens in both directions."""

    previous: Token | None
    """The parameter `next` of the previous page; null on the first page."""


class SentMessage(TypedDict):
    """A message in a request."""

    id: Name
    """Your id of the message; use the same id in retries."""
    text: Annotated[str, constrained(minLength=1, maxLength=MAX_TEXT)]
    """Printable characters and line breaks."""
    user: NotRequired[Name | None]
    """The author, whom a machine names; of a person, the subject of the token."""
