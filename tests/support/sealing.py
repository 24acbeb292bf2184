"""Sealed reports in a dict, made by the product's own functions, and ways to tamper with them."""

import gzip
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from decimal import Decimal
from io import BytesIO
from typing import IO, Any

from quarterhour.model.identifiers import Identity, Partition, Position
from quarterhour.model.quarter_hours import QuarterHour, span
from quarterhour.reports.base_currency import Pins, convert
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.keys import MANIFEST, PAGE, REPORTS, run_prefix
from quarterhour.reports.manifest import run_files
from quarterhour.reports.page import report_page
from quarterhour.reports.plan import Plan, RunTotals
from quarterhour.reports.writer import SealedFileWriter
from tests.support.builders import posting_values

Objects = dict[str, bytes]
NO_PINS: Mapping[str, Pins] = {}


def line(at: datetime, id_: str, amount: str = "12.50", account: str = "42#GBP", **changed: str) -> dict[str, str]:
    """Return the posting of a sale recorded at an instant, at a tenth of commission."""
    return posting_values(
        account,
        amount,
        **{
            "quarter_hour": str(Partition(QuarterHour.at(at), 0)),
            "position": str(Position.of(Identity(changed.get("source", "shop"), id_).hash, at).at(0)),
            "id": id_,
            "commission": f"{Decimal(amount) / 10:f}",
            **changed,
        },
    )


def seal(  # noqa: PLR0913 - a run of any kind
    objects: Objects,
    first: str,
    last: str,
    postings: Iterable[Mapping[str, str]],
    previous: tuple[str, str],
    *,
    base: str = "",
    pins: Mapping[str, Pins] = NO_PINS,
    shards: int = 1,
    parts: int = 1,
) -> tuple[str, str]:
    """Seal a run as the reporter does; return its name and its manifest's hash. ``pins``: rates by quarter-hour."""
    bounds = QuarterHour.parse(first), QuarterHour.parse(last)
    plan = Plan(
        *bounds, "2026-10-23T03:00:00.000Z", "1.0", shards, previous, tuple(span(*bounds)), base=base, parts=parts
    )
    in_order = sorted(postings, key=lambda one: one["position"])
    sealed, totals = [], RunTotals.of(plan.quarter_hours)
    for part in plan.all_parts:
        partitions = set(map(str, plan.partitions(part)))
        its_own = (one for one in in_order if one["quarter_hour"] in partitions)
        with SealedFileWriter() as writer:
            writer.write(its_own)
            sealed.append(writer.seal())
            if sealed[-1].lines:
                objects[part.lines_key] = writer.file.read()
            totals.add(part.quarter_hour, writer.totals())
    conversion = convert(base, totals.rows, lambda quarter_hour, *_: pins.get(str(quarter_hour), {}))
    objects |= {file.key: file.content for file in run_files(plan, sealed, totals, conversion).in_order}
    return plan.run, hexdigest(objects[run_prefix(plan.run) + MANIFEST])


def opening(objects: Mapping[str, bytes]) -> Callable[[str], IO[bytes]]:
    """Return what opens an object of the dict."""

    def open_object(key: str) -> IO[bytes]:
        if key not in objects:
            raise FileNotFoundError(key)
        return BytesIO(objects[key])

    return open_object


# ---------------------------------------------------------------- tampering


def edit(objects: Objects, key: str, change: Callable[[Any], None]) -> None:
    """Change the document of a manifest."""
    document = json.loads(objects[key])
    change(document)
    objects[key] = json.dumps(document).encode()


def repeat_a_key(objects: Objects, key: str, name: str, value: str) -> None:
    """Put a member before all others of a document: readers that take the last value of a key do not see it."""
    objects[key] = objects[key].replace(b"{", f"{{{json.dumps(name)}: {json.dumps(value)},".encode(), 1)


def relined(content: bytes, change: Callable[[list[str]], None]) -> bytes:
    """Change the text lines of a lines file; the first is the header."""
    lines = gzip.decompress(content).decode().splitlines(keepends=True)
    change(lines)
    return gzip.compress("".join(lines).encode(), mtime=0)


def cover_up(objects: Objects) -> None:
    """Make all hashes and pages right again, as somebody with access to everything could."""
    previous = None
    for key in sorted(key for key in objects if key.startswith(REPORTS) and key.endswith(MANIFEST)):
        document = json.loads(objects[key])
        document["previous"] = previous
        for file in [*(file for entry in document["quarter_hours"] for file in entry["files"]), *document["files"]]:
            if file["key"].endswith(PAGE):
                with suppress(ValueError, KeyError):  # tampered with so that it has no page
                    objects[file["key"]] = report_page({**document, "files": document["files"][:-1]})
            if file["key"] in objects:
                file |= {"sha256": hexdigest(objects[file["key"]]), "size": len(objects[file["key"]])}
        objects[key] = json.dumps(document).encode()
        previous = {"run": document["run"], "sha256": hexdigest(objects[key])}
