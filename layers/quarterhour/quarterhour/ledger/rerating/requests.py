"""The requests for previews of re-ratings, and for the effect of a rate card that is not written yet."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple, cast

from quarterhour.model import fields, instants
from quarterhour.model.fields import NAME, TEXT, Fields
from quarterhour.registry.documents.keys import MAX_VERSION, RATE_CARD, is_rate_card
from quarterhour.registry.rate_cards.rate_card import RateCard, read_rate_card
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


class EffectRequest(NamedTuple):
    """A request for the effect of a rate card that is not written: its document, the agency, and the span."""

    document: str
    rate_card: RateCard
    agency: str
    start: datetime
    end: datetime


_EFFECT: Final = frozenset({"rate_card", "agency", "content", "from", "to"})


def effect_request(values: Mapping[str, Any]) -> EffectRequest:
    """Return the request in a body; raise ``InvalidError`` with every problem in it."""
    read = Fields(values)
    read.report_unknown(_EFFECT)
    document = read.value("rate_card", _RATE_CARD, _named)
    agency = read.value("agency", NAME, fields.name)
    start, end = (read.value(one, fields.INSTANT, fields.instant) for one in ("from", "to"))
    if start and end and end <= start:
        read.problem("to", "is not after from", "a later instant")
    rate_card = read_rate_card(values.get("content"))
    if not isinstance(rate_card, RateCard):
        read.problems.extend(rate_card)
    fields.refuse(read.problems, "a rate card, an agency and a span")
    return EffectRequest(document, cast("RateCard", rate_card), agency, start, end)


def _named(value: object) -> str | None:
    is_named = isinstance(value, str) and value.startswith(RATE_CARD)
    return str(value) if is_named and is_rate_card(str(value).removeprefix(RATE_CARD)) else None


def _rate_card(text: str) -> str:
    if not text.startswith(RATE_CARD) or not is_rate_card(text.removeprefix(RATE_CARD)):
        raise ValueError(text)
    return text


def _reason(text: str) -> str:
    if not parameters.text(text).strip():
        raise ValueError(text)
    return text
