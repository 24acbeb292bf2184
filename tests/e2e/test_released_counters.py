"""The counters function of 0.2.0, from its commit, counts side by side with this release's on the same tables."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from benchmarks.released import checked_out
from quarterhour.aws.streams import new_image, with_new_image
from quarterhour.ledger.segments import item_of, postings_of
from quarterhour.model.identifiers import item_position
from quarterhour_tools.errors import ToolError
from tests.support.events import payment, refund, sale
from tests.support.requests import post_each
from tests.support.system import World, opened
from tests.support.tables import all_counters, deliver, stream

pytestmark = [pytest.mark.slow, pytest.mark.engine("dynamodb-local")]

RUN = """
import json, sys
sys.path[:0] = sys.argv[1:]
from types import SimpleNamespace
from handler import handler
from quarterhour.counters import plan
assert plan.__file__.startswith(sys.argv[1]), plan.__file__
context = SimpleNamespace(function_name="counters", memory_limit_in_mb=512, aws_request_id="1",
                          invoked_function_arn="arn:aws:lambda:us-east-1:123456789012:function:counters")
print(json.dumps(handler(json.load(sys.stdin), context)), file=sys.stderr)
"""


@pytest.fixture(scope="module")
def released() -> Iterator[Path]:
    with ExitStack() as stack:
        try:
            place = stack.enter_context(checked_out())
        except ToolError as error:  # a shallow clone
            pytest.skip(f"0.2.0 is not in this clone: {error}")
        yield place


def count_as_released(world: World, released: Path, url: str, records: list[dict[str, Any]]) -> None:
    """Let the function of 0.2.0 count records in another process."""
    environment = world.stack.functions["counters"].environment
    aws = {"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_REGION": "us-east-1"}
    more = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ENDPOINT_URL": url, "POWERTOOLS_TRACE_DISABLED": "1"}
    paths = [str(released / "layers" / "quarterhour"), str(released / "functions" / "counters")]
    ended = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-P", "-c", RUN, *paths],
        input=json.dumps({"Records": records}, default=str),
        env={"PATH": os.environ["PATH"], **environment, **aws, **more},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stderr.splitlines()[-1]) == {"batchItemFailures": []}


def test_0_2_0_and_this_release_count_side_by_side(dynamodb_local_url: str, released: Path) -> None:
    """Each gets records in turn that the other has not seen; then this release gets all of them again."""
    with opened({"LedgerShards": 2}, engine=dynamodb_local_url) as world:
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
                count_as_released(world, released, dynamodb_local_url, some)
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
