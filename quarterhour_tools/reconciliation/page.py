"""A reconciliation as a page for people: totals, what explains their difference, and lines that differ. Pure."""

from typing import Final

from quarterhour.model.clock import iso_millis
from quarterhour.web.html.markup import (
    NOTHING,
    Html,
    Row,
    block,
    escaped,
    facts,
    heading,
    instant,
    joined,
    name,
    page,
    paragraph,
    section,
    table,
)
from quarterhour_tools.output import counted
from quarterhour_tools.reconciliation.result import Reconciliation

MAX_ROWS: Final = 500
"""The most differences that a page shows; the CSV has all."""
_FIGURES: Final = ("Provider", "Ledger", "Difference")


def reconciliation_page(result: Reconciliation) -> bytes:
    """Return the page in UTF-8."""
    title = "Reconciliation"
    return page(
        f"{title} {result.provider} {result.period}",
        [
            block("party", paragraph(Html("Quarterhour"), "lead"), paragraph(name(result.file), "plain")),
            heading(title, escaped(f"{result.provider}, {result.period}")),
        ],
        [_what(result), _rows(result), _sums(result), _differences(result), _problems(result)],
    )


def _what(result: Reconciliation) -> Html:
    until = iso_millis(result.sealed_until) if result.sealed_until else ""
    return joined(
        [
            facts(
                [
                    ("Matched", escaped(f"{result.matched:,}")),
                    ("Not matched", escaped(f"{result.difference_count:,}")),
                    ("Proposed events", escaped(f"{result.proposals:,}")),
                    ("Rows", escaped(f"{result.rows:,}")),
                    ("Lines of other months", escaped(f"{result.outside:,}")),
                    ("Ledger sealed until", instant(until)),
                    ("Compared at", instant(iso_millis(result.made_at))),
                ]
            ),
            paragraph(
                escaped(f"{counted(result.problem_count, 'problem')} in the file: the rows below are in no sum."),
                "mark",
            )
            if result.problem_count
            else NOTHING,
        ]
    )


def _rows(result: Reconciliation) -> Html:
    rows = []
    for one in result.row_sums():
        for currency, amount in (one["amounts"] or {"": ""}).items():
            texts = [escaped(one["kind"]), escaped(one["rule"]), escaped(currency)]
            rows.append(Row(texts, [one["rows"], one["unread"], amount], strong=one["kind"] == "file"))
    title = "What became of the rows of the file"
    return section(title, table(title, ["Rows", "Rule", "Currency"], ["Number", "Unread", "Amount"], rows))


def _sums(result: Reconciliation) -> Html:
    rows = []
    for total in result.totals():
        key = (total["measure"], total["currency"])
        rows += [
            Row(
                [escaped(one["currency"]), escaped(one["measure"]), escaped(one["label"])],
                [one["findings"], one["provider"], one["ledger"], one["difference"]],
            )
            for one in result.sums()
            if (one["measure"], one["currency"]) == key
        ]
        rows.append(
            Row(
                [escaped(total["currency"]), escaped(total["measure"]), Html("Total")],
                [None, total["provider"], total["ledger"], total["difference"]],
                strong=True,
            )
        )
    title = "What explains the difference"
    return section(title, table(title, ["Currency", "Of", "Reason"], ["Findings", *_FIGURES], rows))


def _differences(result: Reconciliation) -> Html:
    title = "Lines that do not match"
    if not result.differences:
        return section(title, paragraph(Html("Every line matches.")))
    rows = [
        Row(
            [
                escaped(one["line"]),
                name(one["name"] or one["events"]),
                escaped(one["label"]),
                name(one["agency"] or one["ledger_agency"]),
                escaped(one["note"]),
                escaped(one["currency"]),
            ],
            [one["provider"], one["ledger"], one["difference"]],
        )
        for one in result.differences[:MAX_ROWS]
    ]
    texts = ["Line", "Name", "Reason", "Agency", "Note", "Currency"]
    shown = len(rows) < result.difference_count
    more = f"The first {len(rows):,} of {result.difference_count:,}; lines.csv has all." if shown else ""
    return section(title, table(title, texts, _FIGURES, rows), paragraph(escaped(more)))


def _problems(result: Reconciliation) -> Html:
    if not result.problems:
        return NOTHING
    title = "Problems of the file"
    more = result.problem_count - len(result.problems)
    rows = [Row([escaped(one)], []) for one in result.problems]
    return section(title, table(title, ["Problem"], [], rows), paragraph(escaped(f"and {more:,} more" if more else "")))
