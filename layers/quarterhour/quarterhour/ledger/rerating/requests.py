"""The parameters of a request for the preview of re-ratings."""

from datetime import datetime
from typing import Final, NamedTuple

from quarterhour.model import instants
from quarterhour.model.fields import NAME, TEXT
from quarterhour.registry.documents.keys import MAX_VERSION, RATE_CARD, is_rate_card
from quarterhour.web import parameters
from quarterhour.web.parameters import MOMENT, Parameters


class PreviewRequest(NamedTuple):
    """A request for a preview: the rate card and its version (``None``: the latest), the agency, the span, and why."""

    rate_card: str
    version: int | None
    agency: str
    start: datetime
    end: datetime
    reason: str


RERATING: Final = ("rate_card", "version", "agency", "from", "to", "reason")
"""The parameters of a request for the preview of re-ratings."""


_RATE_CARD: Final = f"the document of a rate card, such as {RATE_CARD}42"


def preview_request(query: Parameters) -> PreviewRequest:
    """Return the request for a preview of re-ratings; raise ``InvalidError`` for an invalid parameter."""
    start, end = query.span(MOMENT, instants.moment)
    return PreviewRequest(
        query.required("rate_card", _RATE_CARD, _rate_card),
        query.whole("version", 1, MAX_VERSION, 0) or None,
        query.required("agency", NAME, parameters.name),
        start,
        end,
        query.required("reason", f"{TEXT}, not all of them blanks", _reason),
    )


def _rate_card(text: str) -> str:
    if not text.startswith(RATE_CARD) or not is_rate_card(text.removeprefix(RATE_CARD)):
        raise ValueError(text)
    return text


def _reason(text: str) -> str:
    if not parameters.text(text).strip():
        raise ValueError(text)
    return text
