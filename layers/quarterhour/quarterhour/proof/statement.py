"""A statement and its draft, recomputed from the sums of their lines."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from quarterhour.model.charges import COMMISSION
from quarterhour.model.currencies import MINOR_DIGITS
from quarterhour.model.money import NO_CURRENCY
from quarterhour.proof.arithmetic import EXACT, Unit, exact_sum, rounding_of, text_of
from quarterhour.proof.compare import Json, differences, short
from quarterhour.proof.line_sums import BROUGHT_FORWARD, KINDS, NAMED, OTHER, PAYMENTS, SOLD, LineSum, LineSums, Signs
from quarterhour.proof.remainders import NOTHING, ChargeKey, Rests
from quarterhour.registry.agencies.agency import BY_MARKETPLACE, COLLECTORS, LANGUAGES, SCHEMES, STANDARD
from quarterhour.reports.lines import Line
from quarterhour.statements.document.tax import PROFILE_FACTS, note_of
from quarterhour.statements.listing import CREDIT_NOTE, STATEMENT_DOCUMENT

if TYPE_CHECKING:
    from quarterhour.proof.remainders import RateKey


def taxes_of(
    sums: LineSums, shown: Sequence[Json], of_period: Sequence[Json], unit: Unit, carried: Rests
) -> tuple[list[dict[str, Any]], dict[ChargeKey, tuple[Decimal, Decimal]]]:
    """Return the rows of tax, by what the statement shows of the tax profile of each tax point.

    ``of_period``: what is charged of the whole period. ``carried``: the remainders that are rounded with them. The
    second is what the rounding of each charge and tax leaves. Raises ``ValueError`` if it shows none for a tax point.
    """
    named = {span["charge"] for row in shown for span in row["tax_points"] if "charge" in span}
    bases: dict[tuple[Any, ...], dict[str, Decimal]] = {}
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    last: dict[tuple[str, ...], tuple[Any, dict[str, str]]] = {}
    for (day, kind, category, charge), amount in sorted(_charged(sums, of_period).items()):
        names = kind, category, charge if charge in named else ""
        row = _row_of(shown, day, names)
        key = row["scheme"], Decimal(row["percent"]), *(row[name] for name in PROFILE_FACTS)
        of_row = bases.setdefault(key, {})
        of_row[charge] = exact_sum(of_row.get(charge, Decimal(0)), amount)
        taxed = {name: row[name] for name in ("scheme", "percent", *PROFILE_FACTS, "note")}
        spans = rows.setdefault(key, {**taxed, "tax_points": []})["tax_points"]
        before, span = last.get(names, (None, {}))
        if before == key:
            span["to"] = day
        else:
            of_span = {name: text for name, text in zip(NAMED, names, strict=True) if text}
            spans.append({"from": day, "to": day, **of_span})
            last[names] = key, spans[-1]
    return list(rows.values()), _taxed(rows, bases, unit, carried)


def _taxed(
    rows: dict[tuple[Any, ...], dict[str, Any]],
    bases: dict[tuple[Any, ...], dict[str, Decimal]],
    unit: Unit,
    carried: Rests,
) -> dict[ChargeKey, tuple[Decimal, Decimal]]:
    """Add base and tax to rows of tax; return what their rounding leaves. The first one over anything has the rests."""
    left: dict[ChargeKey, tuple[Decimal, Decimal]] = {}
    added: set[tuple[Any, ...]] = set()

    def rounded(exact: Decimal, charge: ChargeKey, which: int) -> Decimal:
        rest = Decimal(0) if (charge, which) in added else carried.of(charge)[which]
        if exact:
            added.add((charge, which))
        return _with_rest(exact, rest, unit)

    def leave(charge: ChargeKey, of_base: Decimal, of_tax: Decimal) -> None:
        before = left.get(charge, (Decimal(0), Decimal(0)))
        left[charge] = exact_sum(before[0], of_base), exact_sum(before[1], of_tax)

    for key, row in rows.items():
        rate: RateKey = (key[0], key[1])
        row["charges"], base = [], Decimal(0)
        of_row = {name: amount for name, amount in bases[key].items() if amount} or {COMMISSION: Decimal(0)}
        for charge, exact in sorted(of_row.items(), key=lambda entry: (entry[0] != COMMISSION, entry[0])):
            amount = rounded(exact, (rate, charge), 0)
            row["charges"].append({"name": charge, "exact": text_of(EXACT.normalize(exact)), "amount": text_of(amount)})
            leave((rate, charge), EXACT.subtract(exact, amount), Decimal(0))
            base = exact_sum(base, amount)
        exact_tax = Decimal(0)
        if row["scheme"] == STANDARD:
            exact_tax = EXACT.multiply(base, Decimal(row["percent"]).scaleb(-2))
        tax = _near(exact_tax, rounded(exact_tax, (rate, COMMISSION), 1), unit)
        leave((rate, COMMISSION), Decimal(0), EXACT.subtract(exact_tax, tax))
        row |= {"base": text_of(base), "tax": text_of(tax)}
    return left


def _charged(sums: LineSums, of_period: Sequence[Json]) -> dict[tuple[str, str, str, str], Decimal]:
    """Return the charges by tax point, kind and category of lines, and name; 0 at the end of the period without any."""
    first = date.fromisoformat(f"{sums.period}-01")
    last_day = ((first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)).isoformat()
    found: dict[tuple[str, str, str, str], Decimal] = {}
    for taxable, charges in sums.charges.items():
        of_point = {name: amount for name, amount in charges.items() if amount} or {COMMISSION: Decimal(0)}
        found |= {(*taxable, name): amount for name, amount in of_point.items()}
    for one in of_period:
        key = last_day, "", "", one["name"]
        found[key] = exact_sum(found.get(key, Decimal(0)), Decimal(one["amount"]))
    return found or {(last_day, "", "", COMMISSION): Decimal(0)}


def collected_of(sums: LineSums, shown: Sequence[Json]) -> list[dict[str, Any]]:
    """Return the nets by who has collected them, as the statement shows it for each tax point.

    Raises ``ValueError`` if it shows nobody for a tax point.
    """
    nets: dict[str, Decimal] = {}
    rows: dict[str, dict[str, Any]] = {}
    before, span = None, {}
    days: dict[str, Decimal] = {}
    for (day, _, _), some in sorted(sums.tax_points.items()):
        days[day] = exact_sum(days.get(day, Decimal(0)), some.value)
    for day, net in days.items():
        by = next((row["by"] for row in shown for one in row["tax_points"] if one["from"] <= day <= one["to"]), None)
        if by is None:
            raise ValueError(f"collected: no row has the tax point {day}")
        nets[by] = exact_sum(nets.get(by, Decimal(0)), net)
        spans = rows.setdefault(by, {"by": by, "tax_points": []})["tax_points"]
        if by == before:
            span["to"] = day
        else:
            span = {"from": day, "to": day}
            spans.append(span)
        before = by
    return [{**row, "net": text_of(nets[by])} for by, row in rows.items()]


def _by_marketplace(rows: Sequence[Json]) -> Decimal:
    return exact_sum(*(Decimal(row["net"]) for row in rows if row["by"] == BY_MARKETPLACE))


def _row_of(taxes: Sequence[Json], day: str, names: tuple[str, ...]) -> Json:
    for row in taxes:
        for span in row["tax_points"]:
            of_span = tuple(span.get(name, "") for name in NAMED)
            if of_span == names and span["from"] <= day <= span["to"]:
                return row
    shown = "".join(f", {name} {text}" for name, text in zip(NAMED, names, strict=True) if text)
    raise ValueError(f"taxes: no row has the tax point {day}{shown}")


def _with_rest(exact: Decimal, rest: Decimal, unit: Unit) -> Decimal:
    """Return the rounded sum of a figure and the remainder; of 0 it is 0."""
    return unit.rounded(exact_sum(exact, rest) if exact else exact)


def _near(exact: Decimal, tax: Decimal, unit: Unit) -> Decimal:
    """Return a tax in whole units that EN 16931 allows: less than one away from the percentage in cents."""
    if MINOR_DIGITS.get(unit.currency, 0):
        return tax
    cents, size = Unit("EUR", "half-up").rounded(abs(exact)), abs(tax)
    if abs(EXACT.subtract(size, cents)) < 1:
        return tax
    while abs(EXACT.subtract(size, cents)) >= 1:
        size = EXACT.add(size, Decimal(1 if size < cents else -1))
    return size.copy_sign(exact)


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


_HEADER: Final = (
    *("schema", "number", "period", "from", "to", "time_zone", "cut_off", "recorded_until", "agency", "currency"),
    *("issued_on", "payment_days", "dispute_until", "language", "title", "cancels", "replaces", "replaced_on"),
    *("collects", "owner", "customer", "previous", "period_charges", "paid_since"),
)
"""The members of a statement that do not follow from its lines."""
_PARTY: Final = (
    *("legal_name", "address", "country", "vat_id", "contact", "iban"),
    *("post_code", "town", "email", "phone", "electronic_address", "registration_number"),
)
_RECIPIENT: Final = ("registered", "group", "invoice_profile", "buyer_reference", "purchase_order")
_PARTIES: Final = {"owner": (*_PARTY, "logo"), "customer": (*_PARTY, *_RECIPIENT)}
"""The members of the parties."""
_NUMBERS: Final = re.compile(r"(\d+)", re.ASCII)


def statement_of(sums: LineSums, header: Json, base: str, lines_file: Json) -> dict[str, Any]:
    """Return what ``statement.json`` must hold.

    ``header``: the members that do not follow from the lines: bounds, parties, number, the previous statement; and
    the figures and the exchange rate of the base currency if ``base`` is empty.
    """
    unit = Unit(header["currency"], rounding_of(header))
    previous, cancels = header["previous"], header["cancels"]
    rests = Rests(previous["remainders"] if previous else NOTHING)
    carried = Rests(cancels["carried"], -1) if cancels else rests
    taxes, left = taxes_of(sums, header["taxes"], header["period_charges"], unit, carried)
    collected = collected_of(sums, header["collected"])
    amounts = _amounts(sums, header, taxes, unit, (_by_marketplace(collected), carried.proceeds))
    rests.add(left, EXACT.subtract(_by_marketplace(collected), amounts["proceeds"]))
    orders = [] if header["cancels"] else _orders(sums)
    return {
        **{name: header[name] for name in _HEADER},
        "document": _document_of(header, amounts, unit),
        "due_on": _due_on(header, EXACT.subtract(amounts["closing"], Decimal(header["paid_since"]))),
        "rounding": rounding_of(header),
        "taxes": taxes,
        "collected": collected,
        "tax_in": _tax_in(sums, header, base, amounts, taxes),
        "remainders": rests.shown(),
        "earlier_months": _earlier_months(sums),
        **{name: text_of(value) for name, value in amounts.items()},
        "lines": sums.lines,
        "prior_period_lines": sum(some.lines for some in sums.prior.values()),
        "by_kind": {name: some.shown("amount") for name, some in sums.kinds.items()},
        "prior_period": {name: some.shown("amount") for name, some in sums.prior.items()},
        "base": _in_base(sums, unit._replace(currency=base)) if base else header["base"],
        "days": [
            {"day": day or None, **some.shown("net")}
            for day, some in sorted(sums.days.items(), key=lambda entry: entry[0] or "~")
        ],
        "terms": [
            {"terms": origin, "commission_rate": rate, **some.shown("net")}
            for (origin, rate), some in sums.terms.items()
        ],
        "lines_of_further_terms": sums.further_terms,
        "orders": orders,
        "lines_in_orders": sum(one["lines"] for one in orders),
        "lines_file": dict(lines_file),
    }


def draft_of(sums: LineSums, header: Json, of_period: Sequence[Json], lines_file: Json) -> dict[str, Any]:
    """Return what ``draft.json`` must hold, as ``comparable`` has it. ``header``: what the lines do not give.

    ``of_period``: what is charged of the whole period.
    """
    rate = None
    if sums.rate:
        is_in_period, quarter_hour, (units, source, as_of) = sums.rate
        rate = [is_in_period, quarter_hour, text_of(units), source, as_of]
    parts: dict[str, list[Any]] = {}
    for name in KINDS:
        both = (("late", sums.prior[name]), ("", sums.of_period[name]))
        parts |= {f"{name}, {which}": some.as_list() for which, some in both if some.lines}
    return {
        **header,
        "sums": {
            "parts": parts,
            "days": {day: some.as_list() for day, some in sums.days.items()},
            "terms": [[*terms, *some.as_list()] for terms, some in sums.terms.items()],
            "further_terms": sums.further_terms,
            "tax_points": {day: some.as_list() for (day, _, _), some in sums.tax_points.items()},
            "base": [*_base_figures(sums, of_period), sorted(sums.base.missing), rate] if sums.rate_of else None,
            **_charge_sums(sums, of_period),
        },
        "orders": _orders(sums),
        "lines_file": dict(lines_file),
    }


def _base_figures(sums: LineSums, of_period: Sequence[Json]) -> Iterator[str]:
    """Yield the exact figures in the base currency; what is charged of the period has the last exchange rate."""
    for name, figure in sums.base.figures.items():
        whole = Fraction(0)
        if name == "commission" and sums.rate:
            whole = sum((Fraction(one["amount"]) for one in of_period), whole) / Fraction(sums.rate[2].units)
        yield str(figure + whole)


def _charge_sums(sums: LineSums, of_period: Sequence[Json]) -> dict[str, Any]:
    """Return the member ``charges`` of a draft's sums, if it must have one."""
    fixed: dict[tuple[str, str], Decimal] = {}
    for (day, _, _), charges in sums.charges.items():
        for name, amount in charges.items():
            if name != COMMISSION:
                fixed[day, name] = exact_sum(fixed.get((day, name), Decimal(0)), amount)
    if not (fixed or sums.turnover or of_period or sums.lacking):
        return {}
    found = {
        "fixed": [[*key, text_of(amount)] for key, amount in sorted(fixed.items())],
        "turnover": [[*key, first, text_of(amount)] for key, (first, amount) in sorted(sums.turnover.items())],
        "of_period": list(of_period),
        "lacking": sums.lacking,
    }
    return {"charges": found}


def period_charges(sums: Json, signs: Signs) -> list[Json]:
    """Return what a document must show of a draft's verified charges of the whole period."""
    of_draft = sums.get("charges", {"of_period": []})["of_period"]
    return [{**one, "amount": text_of(EXACT.multiply(signs.lines, Decimal(one["amount"])))} for one in of_draft]


def draft_figures(sums: LineSums, of_period: Sequence[Json]) -> dict[str, str]:
    """Return the figures of the draft's row in its list. ``of_period``: what is charged of the whole period."""
    sold = [sums.kinds[name] for name in SOLD.values()]
    of_lines = (some.commission for some in (*sold, sums.kinds[OTHER]))
    return {
        "brought_forward": text_of(sums.kinds[BROUGHT_FORWARD].commission),
        "net": text_of(exact_sum(*(some.value for some in sold))),
        "commission_exact": text_of(exact_sum(*of_lines, *(Decimal(one["amount"]) for one in of_period))),
        "payments": text_of(sums.kinds[PAYMENTS].value),
        "lines": str(sums.lines),
        "prior_period_lines": str(sum(some.lines for some in sums.prior.values())),
    }


def shown_problems(document: Json) -> Iterator[str]:
    """Yield what is wrong with members that follow from no other file: the parties, the language and the taxes."""
    for name, members in _PARTIES.items():
        party = document[name]
        yield from differences(party, {member: party.get(member) for member in members}, name)
    if document["language"] not in LANGUAGES:
        yield f"language: expected {' or '.join(LANGUAGES)}, found {short(document['language'])}"
    collectors = (
        ("collects", document["collects"]),
        *((f"collected[{index}].by", row["by"]) for index, row in enumerate(document["collected"])),
    )
    for path, by in collectors:
        if by not in COLLECTORS:
            yield f"{path}: expected {' or '.join(COLLECTORS)}, found {short(by)}"
    for index, row in enumerate(document["taxes"]):
        yield from profile_problems(row, f"taxes[{index}]")


def comparable(draft: Json) -> dict[str, Any]:
    """Return the content of ``draft.json`` with its parts by name, as their order does not matter."""
    sums = draft["sums"]
    parts = {f"{kind}, {'late' if late else ''}": some for kind, late, *some in sums["parts"]}
    if len(parts) != len(sums["parts"]):
        raise ValueError("sums.parts: a kind is there twice")
    return {**draft, "sums": {**sums, "parts": parts}}


def in_base(sums: Json, header: Json, base: str, signs: Signs) -> tuple[Json | None, Json | None]:
    """Return what a statement must show of a draft's verified figures in the base currency.

    The second is the base currency with the exchange rate of ``tax_in``, ``None`` without one.
    """
    if not base:
        return None, None
    net, commission, payments, missing, rate = sums["base"]
    unit = Unit(base, rounding_of(header))
    figures = {"net": net, "commission": commission, PAYMENTS: payments}
    shown = {
        name: text_of(unit.nearest(Fraction(one) * Fraction(signs.of_amount(name)))) for name, one in figures.items()
    }
    in_base_ = {"currency": base, **shown, "missing": missing}
    if not rate or header["currency"] in {base, NO_CURRENCY}:
        return in_base_, None
    _, _, units, source, as_of = rate
    published = {"exchange_rate_source": source, "exchange_rate_as_of": as_of}
    return in_base_, {"currency": base, "exchange_rate": units, **published}


def _amounts(
    sums: LineSums, header: Json, taxes: Sequence[Json], unit: Unit, collected: tuple[Decimal, Decimal]
) -> dict[str, Decimal]:
    """Return the amounts of a statement by name, in the order in which it shows them.

    ``collected``: the net that the marketplace has collected, and what rounding left of the proceeds before.
    """
    sold = {name: sums.kinds[name].value for name in SOLD.values()}
    net = exact_sum(*sold.values())
    of_lines = (sums.kinds[name].commission for name in (*SOLD.values(), OTHER))
    exact = exact_sum(*of_lines, *(Decimal(one["amount"]) for one in header["period_charges"]))
    commission, tax = (exact_sum(*(Decimal(row[name]) for row in taxes)) for name in ("base", "tax"))
    previous = header["previous"]
    brought_forward = sums.kinds[BROUGHT_FORWARD].commission
    opening = exact_sum(Decimal(previous["closing"]) if previous else Decimal(0), brought_forward)
    payments = sums.kinds[PAYMENTS].value
    proceeds = _with_rest(*collected, unit)
    return {
        "opening": opening,
        "brought_forward": brought_forward,
        **sold,
        "net": net,
        "commission_exact": exact,
        "commission": commission,
        "tax": tax,
        "payable": exact_sum(commission, tax),
        "proceeds": proceeds,
        "payments": payments,
        "closing": EXACT.subtract(exact_sum(opening, commission, tax), exact_sum(proceeds, payments)),
    }


def _orders(sums: LineSums) -> list[dict[str, Any]]:
    """Return the sums by order: a correction without an order has that of its sale, if that is among the lines."""
    of: dict[str, dict[tuple[str, str], Line]] = {"sales": {}, "refunds": {}}
    for kind, line, _ in sums.grouped:
        of.get(kind, {})[line["source"], line["id"]] = line
    rows_of: dict[tuple[str, str, str, str], LineSum] = {}
    for kind, line, some in sums.grouped:
        refund = of["refunds"].get(_target(line), line)
        sale = of["sales"].get(_target(refund), {})
        order, product = (line[name] or refund[name] or sale.get(name, "") for name in ("order_id", "product"))
        key = order, "" if order else refund["refers_to"], kind, product
        rows_of.setdefault(key, LineSum()).add(some.value, some.commission)
    rows = sorted(rows_of.items(), key=lambda entry: _place(*entry[0]))
    return [
        {
            "order": order or None,
            "sale": sale or None,
            "kind": kind,
            "product": product or None,
            **some.shown("net"),
        }
        for (order, sale, kind, product), some in rows
    ]


def _target(line: Line) -> tuple[str, str]:
    return line["refers_to_source"] or line["source"], line["refers_to"]


def _tax_in(
    sums: LineSums, header: Json, base: str, amounts: Mapping[str, Decimal], taxes: Sequence[Json]
) -> dict[str, Any] | None:
    """Return the amounts in the base currency; without ``base``, at the exchange rate that is shown."""
    shown = header["tax_in"]
    if shown and not base:
        names = ("exchange_rate", "exchange_rate_source", "exchange_rate_as_of")
        base, (rate, source, as_of) = shown["currency"], (shown[name] for name in names)
        units = Decimal(rate)
    elif sums.rate is None or header["currency"] in {base, NO_CURRENCY}:
        return None
    else:
        _, _, (units, source, as_of) = sums.rate
    unit = Unit(base, rounding_of(header))

    def converted(value: Decimal) -> Decimal:
        return unit.nearest(Fraction(value) / Fraction(units))

    totals = {"base": converted(amounts["commission"]), "tax": converted(amounts["tax"])}
    rows: list[dict[str, str]] = [{} for _ in taxes]
    for name, total in totals.items():
        parts = [converted(Decimal(row[name])) for row in taxes]
        rest = EXACT.subtract(total, exact_sum(*parts))
        sizes = list(map(abs, parts))
        parts[sizes.index(max(sizes))] += rest
        for row, one in zip(rows, parts, strict=True):
            row[name] = text_of(one)
    return {
        "currency": base,
        "exchange_rate": text_of(units),
        "exchange_rate_source": source,
        "exchange_rate_as_of": as_of,
        **{name: text_of(total) for name, total in totals.items()},
        "rows": rows,
        **{name: text_of(converted(amounts[name])) for name in (BROUGHT_FORWARD, "proceeds", PAYMENTS)},
    }


def _earlier_months(sums: LineSums) -> list[dict[str, Any]]:
    months: dict[str, LineSum] = {}
    for (day, _, _), some in sorted(sums.tax_points.items()):
        if day[:7] < sums.period:
            months.setdefault(day[:7], LineSum()).add(some.value, some.commission, some.lines)
    return [{"month": month, **some.shown("net")} for month, some in months.items()]


def _in_base(sums: LineSums, unit: Unit) -> dict[str, Any]:
    figures = {name: text_of(unit.nearest(value)) for name, value in sums.base.figures.items()}
    return {"currency": unit.currency, **figures, "missing": sorted(sums.base.missing)}


def _place(order: str, sale: str, kind: str, product: str) -> tuple[Any, ...]:
    """Return the place of a row: by order or sale, with its numbers as numbers; then sales, then corrections."""
    name = order or sale
    pieces = [int(piece) if index % 2 else piece for index, piece in enumerate(_NUMBERS.split(name))]
    return name == "", pieces, name, KINDS.index(kind), product


def _document_of(header: Json, amounts: Mapping[str, Decimal], unit: Unit) -> str:
    """Return whether a document is a statement or a credit note."""
    if header["cancels"]:
        is_credit = header["cancels"]["document"] == STATEMENT_DOCUMENT
    else:
        is_credit = unit.rounded(amounts["commission_exact"]) < 0
    return CREDIT_NOTE if is_credit else STATEMENT_DOCUMENT


def _due_on(header: Json, due: Decimal) -> str | None:
    """Return the day when what is due must be paid; ``None`` if the agency owes nothing."""
    days = timedelta(days=header["payment_days"])
    return (date.fromisoformat(header["issued_on"]) + days).isoformat() if due > 0 else None
