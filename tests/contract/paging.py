"""Reads all pages of a query, as a client does that follows the tokens."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from quarterhour.web.paging import Page, Paging

Read = Callable[[Paging], Page[Any]]
"""A query, given all its arguments but the page."""


def pages(read: Read, limit: int) -> Iterator[list[dict[str, Any]]]:
    """Yield the items of each page, from token to token; no page may have more than ``limit``."""
    token = None
    while True:
        paging = Paging.of("request", limit, token)
        body = paging.body(read(paging))
        assert len(body["items"]) <= limit
        yield body["items"]
        token = body["next"]
        if token is None:
            return


def everything(read: Read, limit: int) -> list[dict[str, Any]]:
    """Return the items of all pages."""
    return list(chain.from_iterable(pages(read, limit)))
