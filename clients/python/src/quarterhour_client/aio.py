"""``AsyncClient``: the client for asyncio.

It has the worker of ``Client``: the spool's disk needs a thread in any case, and so one worker is tested, not two.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from quarterhour_client.client import EXIT_SECONDS, Client
from quarterhour_client.plan import MAX_BATCH
from quarterhour_client.results import LOOK_SECONDS
from quarterhour_client.spool import MAX_BYTES, MAX_EVENTS
from quarterhour_client.transport import TIMEOUT

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Callable, Coroutine

    import httpx
    from typing_extensions import Self

    from quarterhour_client.events import Event
    from quarterhour_client.results import Results
    from quarterhour_client.spool import Parked
    from quarterhour_client.verdicts import Result

log = logging.getLogger("quarterhour_client")


class AsyncClient:
    """Records events exactly once, whenever the process dies; see ``Client``. Make it in a running event loop."""

    def __init__(  # noqa: PLR0913 - the settings of a client
        self,
        url: str,
        spool: str | os.PathLike[str],
        *,
        auth: httpx.Auth | None = None,
        on_result: Callable[[Result], Coroutine[Any, Any, None]] | None = None,
        max_events: int = MAX_EVENTS,
        max_bytes: int = MAX_BYTES,
        batch: int = MAX_BATCH,
        linger: float = 0.2,
        connections: int = 2,
        timeout: float = TIMEOUT,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Open the spool, and start to send what it holds. ``on_result`` is awaited in the event loop."""
        self._loop = asyncio.get_running_loop()
        self._awaited = on_result
        self._client = Client(
            url,
            spool,
            auth=auth,
            on_result=self._reported if on_result else None,
            max_events=max_events,
            max_bytes=max_bytes,
            batch=batch,
            linger=linger,
            connections=connections,
            timeout=timeout,
            transport=transport,
        )

    async def record(self, *events: Event) -> int:
        """Store events on the disk, all or none; see ``Client.record``. After a cancellation, record them again."""
        return await asyncio.to_thread(self._client.record, *events)

    def results(self) -> AsyncIterator[Result]:
        """Return an iterator of results from now on; see ``Client.results``."""
        return _each(self._client.results())

    async def flush(self, timeout: float | None = None) -> int:
        """Send what is recorded by now; return how many of these events are left after ``timeout`` seconds."""
        return await asyncio.to_thread(self._client.flush, timeout)

    async def waiting(self) -> int:
        """Return how many events wait to be sent."""
        return await asyncio.to_thread(self._client.waiting)

    @property
    def trouble(self) -> str | None:
        """Why nothing can be sent now; ``None`` if nothing is wrong."""
        return self._client.trouble

    async def parked(self) -> list[Parked]:
        """Return the events that the server did not take, with the reasons, the oldest first."""
        return await asyncio.to_thread(lambda: list(self._client.parked()))

    async def resend(self, parked: Parked, event: Event | None = None) -> bool:
        """Send a parked event again, or a corrected event in its place; see ``Client.resend``."""
        return await asyncio.to_thread(self._client.resend, parked, event)

    async def discard(self, parked: Parked) -> bool:
        """Remove a parked event for ever; return whether it was still parked."""
        return await asyncio.to_thread(self._client.discard, parked)

    async def close(self, timeout: float = EXIT_SECONDS) -> int:
        """Flush for up to ``timeout`` seconds, then stop; return how many events are left. They stay in the spool."""
        return await asyncio.to_thread(self._client.close, timeout)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _reported(self, result: Result) -> None:
        """Await the callback in the event loop, from a thread of the client; its error is logged there."""
        if self._awaited is None or self._loop.is_closed():
            log.warning("the event loop has ended before the result of the event %s of %s", result.id, result.source)
            return
        asyncio.run_coroutine_threadsafe(self._awaited(result), self._loop).result()


async def _each(results: Results) -> AsyncIterator[Result]:
    while (taken := await asyncio.to_thread(results.take, LOOK_SECONDS)) is not None:
        for one in taken:
            yield one
