"""The taxes of a statement, recomputed: a row for each scheme and percentage, each rounded once."""

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from quarterhour.proof.arithmetic import EXACT, Unit, exact_sum, text_of
from quarterhour.proof.compare import Json, short
from quarterhour.proof.line_sums import NAMED, LineSum, LineSums
from quarterhour.registry.agencies.agency import SCHEMES, STANDARD
from quarterhour.statements.document.tax import note_of


def taxes_of(sums: LineSums, shown: Sequence[Json], unit: Unit) -> list[dict[str, Any]]:
    """Return the rows of tax, by the scheme and the percentage that the statement shows for each tax point.

    Raises ``ValueError`` if it shows none for a tax point.
    """
    first = date.fromisoformat(f"{sums.period}-01")
    last_day = (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
    bases: dict[tuple[str | None, Decimal], Decimal] = {}
    rows: dict[tuple[str | None, Decimal], dict[str, Any]] = {}
    last: dict[tuple[str, str], tuple[Any, dict[str, str]]] = {}
    for (day, *names), some in sorted(sums.tax_points.items()) or [((last_day.isoformat(), "", ""), LineSum())]:
        kind, category = names
        row = _row_of(shown, day, kind, category)
        key = row["scheme"], Decimal(row["percent"])
        bases[key] = exact_sum(bases.get(key, Decimal(0)), some.commission)
        charged = {name: row[name] for name in ("scheme", "percent", "note")}
        spans = rows.setdefault(key, {**charged, "tax_points": []})["tax_points"]
        before, span = last.get((kind, category), (None, {}))
        if before == key:
            span["to"] = day
        else:
            named = {name: text for name, text in zip(NAMED, names, strict=True) if text}
            spans.append({"from": day, "to": day, **named})
            last[kind, category] = key, spans[-1]
    for key, row in rows.items():
        base = unit.rounded(bases[key])
        row |= {"base": text_of(base), "tax": text_of(_tax(base, unit, row))}
    return list(rows.values())


def _row_of(taxes: Sequence[Json], day: str, kind: str, category: str) -> Json:
    for row in taxes:
        for span in row["tax_points"]:
            of_line = (span.get("kind", ""), span.get("category", "")) == (kind, category)
            if of_line and span["from"] <= day <= span["to"]:
                return row
    names = "".join(f", {name} {text}" for name, text in zip(NAMED, (kind, category), strict=True) if text)
    raise ValueError(f"taxes: no row has the tax point {day}{names}")


def _tax(commission: Decimal, unit: Unit, row: Json) -> Decimal:
    """Return the tax on a rounded commission by the scheme and percentage that the statement shows."""
    if row["scheme"] != STANDARD:
        return unit.rounded(Decimal(0))
    return unit.rounded(EXACT.multiply(commission, Decimal(row["percent"]).scaleb(-2)))


def profile_problems(profile: Json, path: str) -> Iterator[str]:
    """Yield what is wrong with a row of tax in itself."""
    percent = Decimal(profile["percent"])
    if profile["scheme"] not in SCHEMES:
        yield f"{path}.scheme: expected {' or '.join(SCHEMES)}, found {short(profile['scheme'])}"
    elif profile["scheme"] == STANDARD and not 0 <= percent <= 100:  # noqa: PLR2004 - a percentage
        yield f"{path}.percent: {short(profile['percent'])} is not a percentage"
    elif profile["scheme"] != STANDARD and percent:
        yield f"{path}.percent: expected 0, found {short(profile['percent'])}"
    elif profile["note"] != (note := note_of(profile["scheme"], percent)):
        yield f"{path}.note: expected {note}, found {short(profile['note'])}"
