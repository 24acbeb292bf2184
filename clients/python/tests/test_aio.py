"""The client for asyncio."""

import asyncio
from pathlib import Path

import pytest
from clients.python.tests.support import URL, made

from quarterhour_client import AsyncClient, Result, SpoolFullError, Verdict
from quarterhour_client.testing import FakeQuarterhour

pytestmark = pytest.mark.usefixtures("fast")


def test_what_is_recorded_is_sent_and_reported_in_the_event_loop(path: Path) -> None:
    fake = FakeQuarterhour()
    fake.answer_with("shop", "order-2:1", "rejected")
    called: list[Result] = []

    async def report(result: Result) -> None:
        await asyncio.sleep(0)
        called.append(result)

    async def main() -> None:
        async with AsyncClient(URL, path, transport=fake, on_result=report, max_events=3, linger=0.1) as client:
            results = client.results()
            assert await client.record(made(1), made(2)) == 2
            found = [one async for one in results]
            assert {one.id: one.verdict for one in found} == {
                "order-1:1": Verdict.RECORDED, "order-2:1": Verdict.REJECTED
            }  # fmt: skip
            (parked,) = await client.parked()
            assert await client.resend(parked)
            assert await client.flush(60) == 0
            assert (await client.waiting(), await client.parked(), client.trouble) == (0, [], None)
            assert not await client.discard(parked)
            with pytest.raises(SpoolFullError):
                await client.record(*[made(number) for number in range(4)])
            await asyncio.gather(*[client.record(made(number)) for number in (5, 6)])

    asyncio.run(main())
    assert sorted(id_ for _, id_ in fake.recorded) == ["order-1:1", "order-2:1", "order-5:1", "order-6:1"]
    assert len(called) == 5


def test_an_event_that_is_recorded_while_the_loop_is_busy_is_durable(path: Path) -> None:
    async def main() -> None:
        client = AsyncClient(URL, path, transport=FakeQuarterhour(), linger=60)
        await client.record(made(1))
        assert await client.waiting() == 1
        await client.close()
        assert not client._client._worker._threads[0].is_alive()

    asyncio.run(main())
