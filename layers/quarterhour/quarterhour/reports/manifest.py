"""A run's manifest, summary, products and page: bounds, counts, totals and hashes, chained to the previous run."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from quarterhour.model import money
from quarterhour.model.clock import iso_seconds
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.schema import SCHEMA
from quarterhour.model.totals import PeriodTotals, Totals
from quarterhour.reports.base_currency import FIGURES, Conversion, pins_as_list
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.keys import MANIFEST, PAGE, PRODUCTS, SUMMARY, Part, rates_key, run_prefix
from quarterhour.reports.lines import escape_formula
from quarterhour.reports.page import report_page
from quarterhour.reports.plan import (
    Plan,
    RunTotals,
    SealedFile,
    SummaryRow,
    parts_of,
    sums_by_account,
)
from quarterhour.reports.product_figures import OTHERS, ProductTotals

_OF_RATES: Final = ("quarter_hour", "base_currency", "currency", "units_per_base", "source", "as_of")
"""The columns of the exchange rates of a run."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of a run: its key in the S3 bucket and its content."""

    key: str
    content: bytes

    @property
    def sha256(self) -> str:
        """The SHA-256 of the content, in hexadecimal."""
        return hexdigest(self.content)

    def as_dict(self) -> dict[str, Any]:
        """Return the file as a manifest names it."""
        return {"key": self.key, "sha256": self.sha256, "size": len(self.content)}


@dataclass(frozen=True, slots=True)
class RunFiles:
    """The files of a run beside its lines: the manifest, those that it names, and its exchange rates, if it has any."""

    named: tuple[File, ...]
    manifest: File
    rates: File | None = None

    @property
    def in_order(self) -> tuple[File, ...]:
        """All files in the order of writing: the manifest is last, as it names every other file."""
        return *([self.rates] if self.rates else []), *self.named, self.manifest


def run_files(plan: Plan, sealed: Sequence[SealedFile], totals: RunTotals, conversion: Conversion | None) -> RunFiles:
    """Build the summary, the products, the page and the manifest of a run; the same plan and ledger, the same bytes.

    ``sealed`` holds the file of each part.
    """
    prefix = run_prefix(plan.run)
    summary_ = File(prefix + SUMMARY, summary(totals, conversion))
    products_ = File(prefix + PRODUCTS, products(totals.products))
    document = manifest(plan, sealed, totals, conversion)
    document["files"] = [summary_.as_dict(), products_.as_dict()]
    page = File(prefix + PAGE, report_page(document))
    document["files"].append(page.as_dict())
    content = (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode()
    return RunFiles((summary_, products_, page), File(prefix + MANIFEST, content), rates_file(plan, conversion))


def rates_file(plan: Plan, conversion: Conversion | None) -> File | None:
    """Return the exchange rates of a run as CSV for the warehouse, which cannot read those in the manifest.

    ``None`` if no quarter-hour needed one. It follows from the manifest, so no manifest names it.
    """
    if conversion is None or not any(conversion.pins):
        return None
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, _OF_RATES, restval="", lineterminator="\n")
    writer.writeheader()
    for quarter_hour, pins in zip(plan.quarter_hours, conversion.pins, strict=True):
        for rate in pins_as_list(pins):
            source = escape_formula(rate.get("source", ""))
            writer.writerow(
                {"quarter_hour": str(quarter_hour), "base_currency": conversion.base, **rate, "source": source}
            )
    return File(rates_key(plan.run), text.getvalue().encode())


def summary(totals: RunTotals, conversion: Conversion | None = None) -> bytes:
    """Return the CSV summary of a run: one line per account and period.

    A line has exact figures, the commission rounded to the minor unit, and the charges as a sealed line has them. With
    a conversion, the figures in the base currency follow; a note names the exchange rates that are missing.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "agency",
            "currency",
            "period",
            "events",
            "gross",
            "refunds",
            "net",
            "commission",
            "commission_rounded_half_even",
            "payments",
            "charges",
            *(_in_base_columns() if conversion else []),
        ]
    )
    for row, sums in totals.by_row().items():
        account, period = row
        key = [escape_formula(account.agency), account.currency, str(period)]
        figures = [money.plain(value) for value in (sums.gross, sums.refunds, sums.net, sums.commission)]
        rounded = money.plain(money.on_statement(sums.commission, account.currency))
        converted = _in_base(row, conversion) if conversion else []
        others = money.plain(sums.payments), sums.charges_text() if sums.charges else ""
        writer.writerow([*key, sums.events, *figures, rounded, *others, *converted])
    return text.getvalue().encode()


def products(sold: ProductTotals) -> bytes:
    """Return the CSV file of a run's products: one line per account, category and product, with exact figures.

    ``others`` is written in the lines of what is beyond the bound of products.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            *("agency", "currency", "category", "product", "others"),
            *("events", "gross", "refunds", "net", "commission"),
            *("lowest", "highest", "latest", "latest_at"),
        ]
    )
    for (agency, currency, category, product), one in sorted(sold.items()):
        named = ["", "", "others"] if product == OTHERS else [escape_formula(category), escape_formula(product), ""]
        sums, of = one.totals, one.amounts
        figures = map(money.plain, (sums.gross, sums.refunds, sums.net, sums.commission))
        amounts = [*map(money.plain, (of.lowest, of.highest, of.latest)), of.latest_at] if of else [""] * 4
        writer.writerow([escape_formula(agency), currency, *named, sums.events, *figures, *amounts])
    return text.getvalue().encode()


def _in_base_columns() -> list[str]:
    return ["base_currency", *(f"{name}_in_base_rounded_half_even" for name in FIGURES), "base_note"]


def _in_base(row: SummaryRow, conversion: Conversion) -> list[str]:
    converted = conversion.rows[row]
    rounded = converted.rounded(conversion.base)
    if rounded is None:
        account, _ = row
        quarter_hours = " ".join(map(str, converted.missing))
        return [conversion.base, *("" for _ in FIGURES), f"no rate of {account.currency} at the end of {quarter_hours}"]
    return [conversion.base, *map(money.plain, rounded), ""]


def manifest(
    plan: Plan, sealed: Sequence[SealedFile], totals: RunTotals, conversion: Conversion | None = None
) -> dict[str, Any]:
    """Return the manifest of a run, without ``files``; it does not depend on when or how often it is written.

    ``empty``: the bounds of the time between the previous run and this one; its quarter-hours hold nothing in any
    shard.
    """
    rows = totals.by_row()
    by_account: dict[Account, PeriodTotals] = {}
    for (account, period), one in rows.items():
        by_account.setdefault(account, {})[period] = one
    run, digest = plan.previous
    base = {"base_currency": conversion.base} if conversion else {}
    quarter_hours = plan.quarter_hours
    empty = {"from": iso_seconds(plan.empty_since), "to": iso_seconds(plan.first.start)} if plan.empty_since else None
    rates = [{"rates": pins_as_list(pins)} for pins in conversion.pins] if conversion else [{} for _ in quarter_hours]
    files = dict(zip(plan.all_parts, sealed, strict=True))
    return {
        "schema": SCHEMA,
        "run": plan.run,
        "from": iso_seconds(plan.first.start),
        "to": iso_seconds(plan.last.end),
        "planned_at": plan.planned_at,
        "code_version": plan.code_version,
        "shards": plan.shards,
        "parts": plan.parts,
        "previous": {"run": run, "sha256": digest} if run else None,
        "empty": empty,
        **base,
        "quarter_hours": [
            {**_quarter_hour(plan, quarter_hour, files), **rates_}
            for quarter_hour, rates_ in zip(quarter_hours, rates, strict=True)
        ],
        "lines": sum(file.lines for file in sealed),
        "accounts": [
            {
                "agency": account.agency,
                "currency": account.currency,
                **one.as_dict(),
                "periods": {str(period): totals.as_dict() for period, totals in by_account[account].items()},
            }
            for account, one in sums_by_account(rows).items()
        ],
    }


def _quarter_hour(plan: Plan, quarter_hour: QuarterHour, files: Mapping[Part, SealedFile]) -> dict[str, Any]:
    """Return a quarter-hour with the files of its parts; a part without lines has none."""
    parts = [(part, files[part]) for part in parts_of(quarter_hour, plan.parts) if part in files]
    lines = sum(file.lines for _, file in parts)
    sealed = [_file(part, file) for part, file in parts if file.lines]
    return {"quarter_hour": str(quarter_hour), "shards": plan.shards, "lines": lines, "files": sealed}


def _file(part: Part, sealed: SealedFile) -> dict[str, Any]:
    return {"key": part.lines_key, "sha256": sealed.sha256, "size": sealed.size}


def accounts_of(document: Mapping[str, Any]) -> dict[Account, Totals]:
    """Parse each account's totals from a manifest."""
    return {Account(entry["agency"], entry["currency"]): Totals.of(entry) for entry in document["accounts"]}


def periods_of(document: Mapping[str, Any]) -> dict[Account, PeriodTotals]:
    """Parse each account's totals by period from a manifest."""
    return {
        Account(entry["agency"], entry["currency"]): {
            Period.parse(period): Totals.of(totals) for period, totals in entry["periods"].items()
        }
        for entry in document["accounts"]
    }
