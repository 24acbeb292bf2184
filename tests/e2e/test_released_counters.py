"""The counters function of 0.2.0, from its commit, counts side by side with this release's on the same tables."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from quarterhour.aws.streams import new_image, with_new_image
from quarterhour.ledger.segments import item_of, postings_of
from quarterhour.model.identifiers import item_position
from tests.e2e.released_functions import ReleasedFunctions
from tests.support.events import payment, refund, sale
from tests.support.requests import post_each
from tests.support.system import World, opened
from tests.support.tables import all_counters, deliver, stream

pytestmark = [pytest.mark.slow, pytest.mark.engine("dynamodb-local")]


def test_0_2_0_and_this_release_count_side_by_side(dynamodb_local_url: str, released: Path) -> None:
    """Each gets records in turn that the other has not seen; then this release gets all of them again."""
    with opened({"LedgerShards": 2}, engine=dynamodb_local_url) as world:
        functions = ReleasedFunctions(world, released, dynamodb_local_url)
        for part in range(4):
            sold = [sale(f"{part}-{n}", f"{n + 1}.25", customer=f"c{part}", agency=str(n % 2)) for n in range(4)]
            paid = payment(f"{part}-p", "-2.5", agency="1")
            post_each(world, [*sold, paid, refund(f"{part}-r", "-0.25", of=f"{part}-0", agency="0")])
            world.clock.advance(timedelta(minutes=7))
        records = list(map(as_released, stream(world, "LedgerTable")))
        assert len(records) == 24
        for start in range(0, len(records), 3):
            some = records[start : start + 3]
            if start % 2:
                assert deliver(world, "counters", some) == []
            else:
                assert functions.invoke("counters", {"Records": some}) == {"batchItemFailures": []}
        assert deliver(world, "counters", records) == []
        shown = all_counters(world)
    with opened({"LedgerShards": 2}, engine=dynamodb_local_url) as alone:
        assert figures(shown) == figures(counted_alone(alone, records))


def as_released(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record of a segment of one posting as 0.2.0 wrote it: as a separate item."""
    (posting,) = postings_of(new_image(record))
    return with_new_image(record, item_of({**posting, "position": item_position(posting["position"])}))


def counted_alone(world: World, records: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return what this release counts of the same records, without the other."""
    assert deliver(world, "counters", records) == []
    return all_counters(world)


def figures(counters: dict[tuple[str, str], dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """Return counters without versions, expiries and what only one of the releases keeps."""
    names = ("events", "gross", "refunds", "commission", "payments", "customers", "new_customers", "watermarks")
    return {place: {name: values[name] for name in names if name in values} for place, values in counters.items()}
