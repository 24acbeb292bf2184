"""A run's report as a page for people: what was sealed, its sums, and how to prove it. Pure."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from quarterhour.reports.keys import MANIFEST, SUMMARY
from quarterhour.web.html.chart import Bar, bar_chart
from quarterhour.web.html.markup import (
    NOTHING,
    Html,
    Row,
    block,
    code,
    escaped,
    facts,
    heading,
    instant,
    name,
    page,
    paragraph,
    section,
    short,
    table,
)

MAX_ROWS: Final = 1_000
"""The most sums, each of an account and period, that a page shows; the summary has all."""

_FIGURES: Final = {
    "events": "Events",
    "gross": "Gross",
    "refunds": "Refunds",
    "commission": "Commission",
    "payments": "Payments",
}


def report_page(manifest: Mapping[str, Any]) -> bytes:
    """Return the report of a run as HTML in UTF-8; the same manifest gives the same bytes.

    ``manifest`` is the content of the run's manifest, without the page itself among the files. Figures are shown as
    they are written there. What the counters said later is no part of it.
    """
    run = manifest["run"]
    title = "Sealing report"
    return page(
        f"{title} {run}",
        [
            block(
                "party",
                paragraph(Html("Quarterhour"), "lead"),
                paragraph(Html("Sealed quarter-hours of the commission ledger"), "plain"),
            ),
            heading(title, escaped(run)),
        ],
        [_what(manifest), _lines(manifest), _accounts(manifest), _files(manifest), _proof(manifest)],
    )


def _what(manifest: Mapping[str, Any]) -> Html:
    """Return the bounds of the run, and how much it sealed."""
    entries, empty = manifest["quarter_hours"], manifest["empty"]
    return block(
        "parties",
        facts(
            [
                ("From", instant(manifest["from"])),
                ("To", instant(manifest["to"])),
                *([("Nothing was recorded before it, since", instant(empty["from"]))] if empty else []),
                ("Quarter-hours", escaped(str(len(entries)))),
                ("Without lines", escaped(str(sum(not entry["lines"] for entry in entries)))),
                ("Lines", escaped(str(manifest["lines"]))),
                ("Accounts", escaped(str(len(manifest["accounts"])))),
            ]
        ),
        facts(
            [
                ("Planned at", instant(manifest["planned_at"])),
                ("Code version", escaped(manifest["code_version"])),
                ("Schema", escaped(str(manifest["schema"]))),
                ("Shards", escaped(str(manifest["shards"]))),
                ("Parts", escaped(str(manifest["parts"]))),
                ("Base currency", escaped(manifest.get("base_currency", ""))),
            ]
        ),
    )


def _lines(manifest: Mapping[str, Any]) -> Html:
    """Return the chart of the quarter-hours."""
    bars = [Bar(_time(entry), str(entry["lines"])) for entry in manifest["quarter_hours"]]
    title = "Lines by quarter-hour, UTC"
    return section(title, bar_chart(title, bars) or paragraph(Html("Nothing was recorded.")))


def _time(entry: Mapping[str, Any]) -> str:
    """Return the start of a quarter-hour within its day: ``01:30``."""
    return f"{entry['quarter_hour'][8:10]}:{entry['quarter_hour'][10:]}"


def _accounts(manifest: Mapping[str, Any]) -> Html:
    """Return the sums by account and period, as many as a page holds."""
    rows = list(islice(_rows(manifest), MAX_ROWS))
    if not rows:
        return NOTHING
    title = "Sums by account and period"
    left_out = sum(len(account["periods"]) for account in manifest["accounts"]) - len(rows)
    more = Html(f"{left_out} more are in {code(SUMMARY)}." if left_out else "")
    return section(
        title, table(title, ["Agency", "Currency", "Period"], list(_FIGURES.values()), rows), paragraph(more)
    )


def _rows(manifest: Mapping[str, Any]) -> Iterator[Row]:
    for account in manifest["accounts"]:
        for period, sums in account["periods"].items():
            texts = [name(account["agency"]), escaped(account["currency"]), short(period)]
            yield Row(texts, [sums[figure] for figure in _FIGURES])


def _files(manifest: Mapping[str, Any]) -> Html:
    """Return the sealed files with their sizes and hashes."""
    rows = [
        Row([short(_time(entry)), code(file["key"]), code(file["sha256"])], [file["size"]])
        for entry in manifest["quarter_hours"]
        for file in entry["files"]
    ]
    rows += [Row([Html("all"), code(file["key"]), code(file["sha256"])], [file["size"]]) for file in manifest["files"]]
    title = "Files"
    return section(title, table(title, ["Quarter-hour", "File", "SHA-256"], ["Bytes"], rows))


def _proof(manifest: Mapping[str, Any]) -> Html:
    """Return the link of the chain to the previous run, and how the run is proven."""
    previous = manifest["previous"]
    chain = [("Previous run", escaped(previous["run"])), ("SHA-256", code(previous["sha256"]))] if previous else []
    return section(
        "Proof",
        paragraph(
            Html(
                f"{code(MANIFEST)}, beside this page, names every file and the hash of the previous manifest. "
                f"{code('quarterhour verify')} checks all files against it. {code('GET /reports/' + manifest['run'])} "
                "shows whether the counters agree with each quarter-hour; this page never changes, so it does not."
            )
        ),
        facts(chain) if chain else paragraph(Html("This is the first run.")),
    )
