"""``Sender``: sends without a spool and returns the verdicts. For functions that are called again if they fail."""

from __future__ import annotations

import json
import random
import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx

from quarterhour_client.delivery import Delivery
from quarterhour_client.errors import RefusedError, UnansweredError
from quarterhour_client.events import in_one_form, instant
from quarterhour_client.plan import Refused, Waiting, batches, is_temporary, pause, said, seconds_of, unanswered
from quarterhour_client.transport import TIMEOUT, Api

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from typing_extensions import Self

    from quarterhour_client.events import Event
    from quarterhour_client.plan import Answer
    from quarterhour_client.verdicts import Result

DEADLINE = 20.0
"""Seconds in which a call repeats what has no final answer."""
_CREATED = frozenset({200, 201})


class Sender:
    """Sends events, and creates orders, at once. Threads may share it."""

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | None = None,
        timeout: float = TIMEOUT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Take the URL of the API, how requests are signed, and the seconds for one request."""
        self._api = Api(url, auth=auth, timeout=timeout, connections=10, transport=transport)
        self._timeout = timeout

    def send(self, events: Iterable[Event], *, within: float = DEADLINE) -> list[Result]:
        """Send events, and return the outcome of each, in their order.

        What is unavailable is sent again for ``within`` seconds; after that its verdict is ``unavailable``: send it
        again later. Raises ``RefusedError`` if the server refuses the sender; sending all events again is safe.
        """
        numbered = [Waiting(number, one.source, one.id, one.body) for number, one in enumerate(events)]
        end = time.monotonic() + within
        found: dict[int, Result] = {}
        delivery: Delivery

        def post(part: Sequence[Waiting]) -> Answer:
            return self._api.post_events(part, self._left(end))

        def wait(seconds: float) -> bool:
            if isinstance(delivery.trouble, Refused) or time.monotonic() + seconds >= end:
                return False
            time.sleep(seconds)
            return True

        delivery = Delivery(post, wait)
        for batch in batches(numbered):
            if found and time.monotonic() >= end:
                break
            for pairs in delivery.deliver(batch):
                found |= {one.seq: result for one, result in pairs}
            if isinstance(delivery.trouble, Refused):
                raise RefusedError(f"POST /events {delivery.trouble.reason}")
        reason = delivery.trouble.reason if delivery.trouble else "was not sent in time, or is unavailable"
        return [found.get(one.seq) or unanswered(one, reason) for one in numbered]

    def create_order(  # noqa: PLR0913 - the fields of an order
        self,
        order: str,
        items: Sequence[Mapping[str, Any]],
        *,
        currency: str,
        customer: str | None = None,
        placed_at: datetime | None = None,
        within: float = DEADLINE,
    ) -> dict[str, Any]:
        """Create an order of items that ``order_item`` returns, and return its state; a retry returns the same.

        Raises ``RefusedError`` if it is invalid or a conflict, ``UnansweredError`` if there is no answer in time.
        """
        body: dict[str, Any] = {"order": order, "currency": currency, "items": list(items)}
        body |= {"customer": customer} if customer is not None else {}
        body |= {"placed_at": instant(placed_at, "placed_at")} if placed_at is not None else {}
        return self._exchange("POST", "/orders", body, within)

    def change_order(self, order: str, *, from_status: str, to_status: str, within: float = DEADLINE) -> dict[str, Any]:
        """Change the status of an order, such as ``open`` to ``paid``, and return its state.

        A paid order posts its sales, so do not send them as events too. Raises as ``create_order`` does.
        """
        name = quote(
            quote(in_one_form(order), safe=""), safe=""
        )  # API Gateway decodes a path once before it looks for the route
        path = f"/orders/{name}/status"
        return self._exchange("PUT", path, {"from": from_status, "to": to_status}, within)

    def _exchange(self, method: str, path: str, body: Mapping[str, Any], within: float) -> dict[str, Any]:
        """Send a request that may be repeated, until it is answered for good."""
        content = json.dumps(in_one_form(dict(body)), ensure_ascii=False, allow_nan=False).encode()
        end, attempt = time.monotonic() + within, 0
        while True:
            attempt += 1
            after = 0.0
            try:
                answer = self._api.request(method, path, content, self._left(end))
            except httpx.HTTPError as error:
                reason = f"had no answer: {type(error).__name__}: {error}"
            else:
                reason = said(answer)
                if answer.status in _CREATED:
                    state: dict[str, Any] = json.loads(answer.content)
                    return state
                if not is_temporary(answer.status):
                    raise RefusedError(f"{method} {path} {reason}")
                after = seconds_of(answer.headers.get("retry-after", ""), datetime.now(timezone.utc))
            seconds = pause(attempt, after, random.random())  # noqa: S311 - jitter  # nosec B311
            if time.monotonic() + seconds >= end:
                raise UnansweredError(f"{method} {path} {reason}; the same request again is safe")
            time.sleep(seconds)

    def _left(self, end: float) -> float:
        """Return the seconds that a request may take."""
        return max(0.1, min(self._timeout, end - time.monotonic()))

    def close(self) -> None:
        """Close the connections."""
        self._api.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
