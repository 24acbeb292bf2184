"""External ids: the texts by which shops and payment providers name an agency, such as a vendor of Shopify."""

from collections.abc import Mapping
from typing import Any, Final

from quarterhour.model import fields
from quarterhour.model.fields import Fields
from quarterhour.registry.documents.keys import Alias

PROVIDERS: Final = ("shopify", "stripe", "woocommerce")
"""The providers whose ids an agency can have."""
MAX_IDS: Final = 15
"""The most ids of an agency at a provider: a transaction writes or deletes all that change."""
_LIST: Final = f"a list of at most {MAX_IDS} texts"
_IDS: Final = f"an object with {', '.join(PROVIDERS)}, each {_LIST}"

ExternalIds = Mapping[str, tuple[str, ...]]
"""The ids of an agency by provider."""


def read_external_ids(outer: Fields, field: str) -> ExternalIds:
    """Return the ids in a field; a problem is added for each that is none."""
    sent = outer.value(field, _IDS, lambda value: value if isinstance(value, Mapping) else None, optional=True) or {}
    inner = outer.within(field, sent)
    inner.report_unknown(frozenset(PROVIDERS))
    return {provider: _ids(inner, provider) for provider in PROVIDERS if sent.get(provider) is not None}


def _ids(inner: Fields, provider: str) -> tuple[str, ...]:
    sent: list[Any] = inner.value(provider, _LIST, _short_list) or []
    each = inner.within(provider, {str(number): one for number, one in enumerate(sent)})
    found = (each.value(str(number), fields.TEXT, external_id) for number in range(len(sent)))
    return tuple(dict.fromkeys(one for one in found if one))


def _short_list(value: object) -> list[Any] | None:
    return value if isinstance(value, list) and len(value) <= MAX_IDS else None


def aliases_of(ids: ExternalIds) -> frozenset[Alias]:
    """Return the ids as names that one agency alone may have."""
    return frozenset(Alias(provider, text) for provider, texts in ids.items() for text in texts)


def external_id(text: object) -> str | None:
    """Return a text as an id in the form in which it is registered; ``None`` if it can be none."""
    return fields.label(text)
