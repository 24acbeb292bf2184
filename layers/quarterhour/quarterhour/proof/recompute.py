"""Recomputes a statement from its lines, for verification: it shares no arithmetic with what makes statements."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, Inexact, InvalidOperation, Overflow
from fractions import Fraction
from typing import Any, Final, NamedTuple, Self

from quarterhour.ledger.events.event import ADJUSTMENT, OPENING, PAYMENT, REFUND, SALE, VOID
from quarterhour.model.currencies import MINOR_DIGITS
from quarterhour.model.identifiers import SEPARATOR
from quarterhour.model.money import NO_CURRENCY
from quarterhour.model.periods import Period
from quarterhour.registry.agencies.agency import BY_MARKETPLACE, COLLECTORS, LANGUAGES, SCHEMES, STANDARD
from quarterhour.reports.lines import Line
from quarterhour.statements.document.tax import note_of
from quarterhour.statements.drafts.figures import MAX_TERMS
from quarterhour.statements.drafts.orders import GROUPED_LINES
from quarterhour.statements.listing import CREDIT_NOTE, STATEMENT_DOCUMENT

Json = Mapping[str, Any]


class PinnedRate(NamedTuple):
    """What one unit of the base currency is worth, who published that, and since when it holds.

    The last two are empty for the base currency itself.
    """

    units: Decimal
    source: str = ""
    as_of: str = ""


PinnedRateOf = Callable[[str, str], PinnedRate | None]
"""Returns the exchange rate of a quarter-hour and a currency; ``None`` without one."""

EXACT: Final = Context(prec=200, traps=[Inexact, InvalidOperation, Overflow])
_ROUNDINGS: Final = {
    name: Context(prec=200, rounding=mode, traps=[InvalidOperation, Overflow])
    for name, mode in (("half-even", ROUND_HALF_EVEN), ("half-up", ROUND_HALF_UP))
}
_SOLD: Final = {SALE: "sales", VOID: "voids", REFUND: "refunds", ADJUSTMENT: "adjustments"}
_BROUGHT_FORWARD: Final = "brought_forward"
_PAYMENTS: Final = "payments"
_OTHER: Final = "other"
_KINDS: Final = (*_SOLD.values(), _BROUGHT_FORWARD, _PAYMENTS, _OTHER)
_HEADER: Final = (
    *("schema", "number", "period", "from", "to", "time_zone", "cut_off", "recorded_until", "agency", "currency"),
    *("issued_on", "payment_days", "dispute_until", "language", "cancels", "replaces", "collects"),
    *("owner", "customer", "previous"),
)
"""The members of a statement that do not follow from its lines."""
_PARTY: Final = ("legal_name", "address", "country", "vat_id", "contact", "iban")
_PARTIES: Final = {"owner": (*_PARTY, "logo"), "customer": (*_PARTY, "registered", "group")}
"""The members of the parties."""
_NUMBERS: Final = re.compile(r"(\d+)", re.ASCII)
_SHOWN: Final = 100
_NAMED: Final = ("kind", "category")
"""The columns of a line that may decide its tax, beside its tax point."""
_Taxable = tuple[str, str, str]
"""A tax point, and the kind and the category that a statement names; else both are empty."""


class _Sum:
    """A number of lines, and the sums of two figures."""

    __slots__ = ("commission", "lines", "value")

    def __init__(self) -> None:
        self.lines, self.value, self.commission = 0, Decimal(0), Decimal(0)

    def add(self, value: Decimal, commission: Decimal, lines: int = 1) -> None:
        self.lines += lines
        self.value = EXACT.add(self.value, value)
        self.commission = EXACT.add(self.commission, commission)

    def as_list(self) -> list[Any]:
        return [self.lines, text_of(self.value), text_of(self.commission)]

    def shown(self, name: str) -> dict[str, Any]:
        return {"lines": self.lines, name: text_of(self.value), "commission": text_of(self.commission)}


@dataclass(slots=True)
class _InBase:
    """Figures in the base currency, as exact fractions, and the quarter-hours without an exchange rate."""

    figures: dict[str, Fraction] = field(
        default_factory=lambda: {name: Fraction(0) for name in ("net", "commission", _PAYMENTS)}
    )
    missing: set[str] = field(default_factory=set)

    def add(self, kind: str, amount: Decimal, commission: Decimal, quarter_hour: str, units: Decimal | None) -> None:
        """Add a line; ``units`` of its currency are worth one of the base currency."""
        if units is None:
            self.missing.add(quarter_hour)
        elif kind == _PAYMENTS:
            self.figures[_PAYMENTS] += Fraction(amount) / Fraction(units)
        elif kind != _BROUGHT_FORWARD:
            self.figures["net"] += Fraction(0 if kind == _OTHER else amount) / Fraction(units)
            self.figures["commission"] += Fraction(commission) / Fraction(units)


class Signs(NamedTuple):
    """By what a document multiplies its lines' amounts and commissions, and the amounts of payments.

    A cancellation reverses its lines. Payments count in the first document of a draft only.
    """

    lines: Decimal = Decimal(1)
    payments: Decimal = Decimal(1)

    def of_amount(self, kind: str) -> Decimal:
        """Return the factor of the amounts of a kind."""
        return self.payments if kind == _PAYMENTS else self.lines

    @classmethod
    def of(cls, document: Json) -> Self:
        """Return those of a statement's JSON."""
        is_first = not (document.get("cancels") or document.get("replaces"))
        return cls(Decimal(-1 if document.get("cancels") else 1), Decimal(1 if is_first else 0))


_AS_SEALED: Final = Signs()


class Recomputation:
    """The sums of a statement's lines, added one after the other.

    ``rate_of``: the exchange rates of the base currency; ``None`` without them. ``taxes``: those that the
    statement shows; of the kinds and categories of its lines, only those that they name decide a tax. Memory grows with
    these, the days and the listed terms of the lines, not with their number. ``signs``: those of the document that has
    the lines.
    """

    def __init__(
        self,
        period: str,
        zone: tzinfo,
        rate_of: PinnedRateOf | None = None,
        taxes: Sequence[Json] = (),
        signs: Signs = _AS_SEALED,
    ) -> None:
        self._signs = signs
        spans = [span for row in taxes for span in row["tax_points"]]
        self._named = {name: {span[name] for span in spans if name in span} for name in _NAMED}
        self._period = period
        self._zone = zone
        self._rate_of = rate_of
        self._kinds = {name: _Sum() for name in _KINDS}
        self._prior = {name: _Sum() for name in _KINDS}
        self._of_period = {name: _Sum() for name in _KINDS}
        self._days: dict[str, _Sum] = {}
        self._tax_points: dict[_Taxable, _Sum] = {}
        self._terms: dict[tuple[str, str], _Sum] = {}
        self._further_terms = 0
        self._grouped: list[tuple[str, Line, _Sum]] = []
        self._base = _InBase()
        self._rate: tuple[bool, str, PinnedRate] | None = None
        self._end = datetime.fromisoformat(bounds_of(Period.parse(period), zone)["to"])
        self.lines = 0

    def add(self, line: Line) -> None:
        """Add a line; raise ``ValueError`` or ``ArithmeticError`` if it cannot be read."""
        amount, commission = (Decimal(line[name]) for name in ("amount", "commission"))
        kind = _BROUGHT_FORWARD if line["kind"] == OPENING else _SOLD.get(line["type"], _OTHER)
        if kind == _OTHER and line["type"] == PAYMENT:
            kind = _PAYMENTS
        factor = self._signs.of_amount(kind)
        amount = EXACT.multiply(factor, amount) if factor else Decimal(0)
        commission = EXACT.multiply(self._signs.lines, commission)
        self.lines += 1
        self._kinds[kind].add(amount, commission)
        is_prior = line["prior_period"] or line["period"] != self._period
        (self._prior if is_prior else self._of_period)[kind].add(amount, commission)
        if self._rate_of:
            quarter_hour, _, _ = line["quarter_hour"].partition(SEPARATOR)
            pinned = self._rate_of(quarter_hour, line["currency"])
            self._base.add(kind, amount, commission, quarter_hour, pinned.units if pinned else None)
            if pinned is not None:
                rate = self._is_in_period(quarter_hour), quarter_hour, pinned
                self._rate = max(rate, self._rate) if self._rate else rate
        if kind in {_BROUGHT_FORWARD, _PAYMENTS}:
            return
        net = Decimal(0) if kind == _OTHER else amount
        day = self._day(line)
        self._days.setdefault(day if day.startswith(self._period) else "", _Sum()).add(net, commission)
        tax_point = line["tax_point"] or day
        taxable = date.fromisoformat(tax_point).isoformat(), *self._named_of(line)
        self._tax_points.setdefault(taxable, _Sum()).add(net, commission)
        terms = line["terms"], line["commission_rate"]
        if terms in self._terms or len(self._terms) < MAX_TERMS:
            self._terms.setdefault(terms, _Sum()).add(net, commission)
        else:
            self._further_terms += 1
        if self.lines <= GROUPED_LINES:
            some = _Sum()
            some.add(net, commission)
            self._grouped.append((kind, line, some))

    def _is_in_period(self, quarter_hour: str) -> bool:
        return datetime.strptime(quarter_hour, "%Y%m%d%H%M").replace(tzinfo=UTC) < self._end

    def _named_of(self, line: Line) -> tuple[str, str]:
        """Return the kind and the category of a line, as far as they decide its tax."""
        kind, category = (text if (text := line[name]) in self._named[name] else "" for name in _NAMED)
        return kind, category

    def _day(self, line: Line) -> str:
        """Return the date of business time."""
        at = datetime.fromisoformat(line["time"] or line["recorded_at"])
        try:
            return at.astimezone(self._zone).date().isoformat()
        except OverflowError:  # before the year 1 or after 9999 in that zone
            return at.date().isoformat()

    # ------------------------------------------------------------ what follows from the sums

    def document(self, header: Json, base: str, lines_file: Json) -> dict[str, Any]:
        """Return what ``statement.json`` must hold.

        ``header``: the members that do not follow from the lines: bounds, parties, number, the previous statement; and
        the figures and the exchange rate of the base currency if ``base`` is empty.
        """
        unit = _Unit(header["currency"], _rounding_of(header))
        taxes = self._taxes(header["taxes"], unit)
        amounts = self._amounts(header, taxes, unit)
        orders = [] if header["cancels"] else self._orders()
        return {
            **{name: header[name] for name in _HEADER},
            "document": _document_of(header, amounts, unit),
            "due_on": _due_on(header, amounts["closing"]),
            "rounding": _rounding_of(header),
            "taxes": taxes,
            "tax_in": self._tax_in(header, base, amounts["commission"], amounts["tax"]),
            "earlier_months": self._earlier_months(),
            **{name: text_of(value) for name, value in amounts.items()},
            "lines": self.lines,
            "prior_period_lines": sum(some.lines for some in self._prior.values()),
            "by_kind": {name: some.shown("amount") for name, some in self._kinds.items()},
            "prior_period": {name: some.shown("amount") for name, some in self._prior.items()},
            "base": self._in_base(unit._replace(currency=base)) if base else header["base"],
            "days": [
                {"day": day or None, **some.shown("net")}
                for day, some in sorted(self._days.items(), key=lambda entry: entry[0] or "~")
            ],
            "terms": [
                {"terms": origin, "commission_rate": rate, **some.shown("net")}
                for (origin, rate), some in self._terms.items()
            ],
            "lines_of_further_terms": self._further_terms,
            "orders": orders,
            "lines_in_orders": sum(one["lines"] for one in orders),
            "lines_file": dict(lines_file),
        }

    def _amounts(self, header: Json, taxes: Sequence[Json], unit: "_Unit") -> dict[str, Decimal]:
        """Return the amounts of a statement by name, in the order in which it shows them."""
        sold = {name: self._kinds[name].value for name in _SOLD.values()}
        net = _add(*sold.values())
        exact = _add(*(self._kinds[name].commission for name in (*_SOLD.values(), _OTHER)))
        commission, tax = (_add(*(Decimal(row[name]) for row in taxes)) for name in ("base", "tax"))
        previous = header["previous"]
        brought_forward = self._kinds[_BROUGHT_FORWARD].commission
        opening = _add(Decimal(previous["closing"]) if previous else Decimal(0), brought_forward)
        payments = self._kinds[_PAYMENTS].value
        proceeds = unit.rounded(net if _is_collected(header) else Decimal(0))
        return {
            "opening": opening,
            "brought_forward": brought_forward,
            **sold,
            "net": net,
            "commission_exact": exact,
            "commission": commission,
            "tax": tax,
            "payable": _add(commission, tax),
            "proceeds": proceeds,
            "payments": payments,
            "closing": EXACT.subtract(_add(opening, commission, tax), _add(proceeds, payments)),
        }

    def draft(self, header: Json, lines_file: Json) -> dict[str, Any]:
        """Return what ``draft.json`` must hold, as ``comparable`` has it. ``header``: what the lines do not give."""
        rate = None
        if self._rate:
            is_in_period, quarter_hour, (units, source, as_of) = self._rate
            rate = [is_in_period, quarter_hour, text_of(units), source, as_of]
        parts: dict[str, list[Any]] = {}
        for name in _KINDS:
            both = (("late", self._prior[name]), ("", self._of_period[name]))
            parts |= {f"{name}, {which}": some.as_list() for which, some in both if some.lines}
        return {
            **header,
            "sums": {
                "parts": parts,
                "days": {day: some.as_list() for day, some in self._days.items()},
                "terms": [[*terms, *some.as_list()] for terms, some in self._terms.items()],
                "further_terms": self._further_terms,
                "tax_points": {day: some.as_list() for (day, _, _), some in self._tax_points.items()},
                "base": [*map(str, self._base.figures.values()), sorted(self._base.missing), rate]
                if self._rate_of
                else None,
            },
            "orders": self._orders(),
            "lines_file": dict(lines_file),
        }

    def figures(self) -> dict[str, str]:
        """Return the figures of the draft's row in its list."""
        sold = [self._kinds[name] for name in _SOLD.values()]
        return {
            "brought_forward": text_of(self._kinds[_BROUGHT_FORWARD].commission),
            "net": text_of(_add(*(some.value for some in sold))),
            "commission_exact": text_of(_add(*(some.commission for some in (*sold, self._kinds[_OTHER])))),
            "payments": text_of(self._kinds[_PAYMENTS].value),
            "lines": str(self.lines),
            "prior_period_lines": str(sum(some.lines for some in self._prior.values())),
        }

    def _orders(self) -> list[dict[str, Any]]:
        """Return the sums by order: a correction without an order has that of its sale, if that is among the lines."""
        sales = {(line["source"], line["id"]): line for kind, line, _ in self._grouped if kind == "sales"}
        sums: dict[tuple[str, str, str, str], _Sum] = {}
        for kind, line, some in self._grouped:
            sale = sales.get((line["refers_to_source"] or line["source"], line["refers_to"]), {})
            order, product = (line[name] or sale.get(name, "") for name in ("order_id", "product"))
            key = order, "" if order else line["refers_to"], kind, product
            sums.setdefault(key, _Sum()).add(some.value, some.commission)
        rows = sorted(sums.items(), key=lambda entry: _place(*entry[0]))
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

    def _taxes(self, shown: Sequence[Json], unit: "_Unit") -> list[dict[str, Any]]:
        """Return the rows of tax, by the scheme and the percentage that the statement shows for each tax point.

        Raises ``ValueError`` if it shows none for a tax point.
        """
        first = date.fromisoformat(f"{self._period}-01")
        last_day = (first.replace(day=28) + timedelta(days=4)).replace(day=1) - timedelta(days=1)
        bases: dict[tuple[str | None, Decimal], Decimal] = {}
        rows: dict[tuple[str | None, Decimal], dict[str, Any]] = {}
        last: dict[tuple[str, str], tuple[Any, dict[str, str]]] = {}
        for (day, *names), some in sorted(self._tax_points.items()) or [((last_day.isoformat(), "", ""), _Sum())]:
            kind, category = names
            row = _row_of(shown, day, kind, category)
            key = row["scheme"], Decimal(row["percent"])
            bases[key] = _add(bases.get(key, Decimal(0)), some.commission)
            charged = {name: row[name] for name in ("scheme", "percent", "note")}
            spans = rows.setdefault(key, {**charged, "tax_points": []})["tax_points"]
            before, span = last.get((kind, category), (None, {}))
            if before == key:
                span["to"] = day
            else:
                named = {name: text for name, text in zip(_NAMED, names, strict=True) if text}
                spans.append({"from": day, "to": day, **named})
                last[kind, category] = key, spans[-1]
        for key, row in rows.items():
            base = unit.rounded(bases[key])
            row |= {"base": text_of(base), "tax": text_of(_tax(base, unit, row))}
        return list(rows.values())

    def _tax_in(self, header: Json, base: str, commission: Decimal, tax: Decimal) -> dict[str, str] | None:
        """Return the totals of tax in the base currency; without ``base``, at the exchange rate that is shown."""
        shown = header["tax_in"]
        if shown and not base:
            names = ("exchange_rate", "exchange_rate_source", "exchange_rate_as_of")
            base, (rate, source, as_of) = shown["currency"], (shown[name] for name in names)
            units = Decimal(rate)
        elif self._rate is None or header["currency"] in {base, NO_CURRENCY}:
            return None
        else:
            _, _, (units, source, as_of) = self._rate
        in_base = _Unit(base, _rounding_of(header))
        figures = {"base": commission, "tax": tax}
        return {
            "currency": base,
            "exchange_rate": text_of(units),
            "exchange_rate_source": source,
            "exchange_rate_as_of": as_of,
            **{name: text_of(in_base.nearest(Fraction(value) / Fraction(units))) for name, value in figures.items()},
        }

    def _earlier_months(self) -> list[dict[str, Any]]:
        months: dict[str, _Sum] = {}
        for (day, _, _), some in sorted(self._tax_points.items()):
            if day[:7] < self._period:
                months.setdefault(day[:7], _Sum()).add(some.value, some.commission, some.lines)
        return [{"month": month, **some.shown("net")} for month, some in months.items()]

    def _in_base(self, unit: "_Unit") -> dict[str, Any]:
        figures = {name: text_of(unit.nearest(value)) for name, value in self._base.figures.items()}
        return {"currency": unit.currency, **figures, "missing": sorted(self._base.missing)}


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
    unit = _Unit(base, _rounding_of(header))
    figures = {"net": net, "commission": commission, _PAYMENTS: payments}
    shown = {
        name: text_of(unit.nearest(Fraction(one) * Fraction(signs.of_amount(name)))) for name, one in figures.items()
    }
    in_base_ = {"currency": base, **shown, "missing": missing}
    if not rate or header["currency"] in {base, NO_CURRENCY}:
        return in_base_, None
    _, _, units, source, as_of = rate
    published = {"exchange_rate_source": source, "exchange_rate_as_of": as_of}
    return in_base_, {"currency": base, "exchange_rate": units, **published}


def _place(order: str, sale: str, kind: str, product: str) -> tuple[Any, ...]:
    """Return the place of a row: by order or sale, with its numbers as numbers; then sales, then corrections."""
    name = order or sale
    pieces = [int(piece) if index % 2 else piece for index, piece in enumerate(_NUMBERS.split(name))]
    return name == "", pieces, name, _KINDS.index(kind), product


def _document_of(header: Json, amounts: Mapping[str, Decimal], unit: "_Unit") -> str:
    """Return whether a document is a statement or a credit note."""
    if header["cancels"]:
        is_credit = header["cancels"]["document"] == STATEMENT_DOCUMENT
    else:
        is_credit = unit.rounded(amounts["commission_exact"]) < 0
    return CREDIT_NOTE if is_credit else STATEMENT_DOCUMENT


def _due_on(header: Json, closing: Decimal) -> str | None:
    """Return the day when a closing balance must be paid; ``None`` if the agency owes nothing."""
    days = timedelta(days=header["payment_days"])
    return (date.fromisoformat(header["issued_on"]) + days).isoformat() if closing > 0 else None


def _row_of(taxes: Sequence[Json], day: str, kind: str, category: str) -> Json:
    for row in taxes:
        for span in row["tax_points"]:
            of_line = (span.get("kind", ""), span.get("category", "")) == (kind, category)
            if of_line and span["from"] <= day <= span["to"]:
                return row
    names = "".join(f", {name} {text}" for name, text in zip(_NAMED, (kind, category), strict=True) if text)
    raise ValueError(f"taxes: no row has the tax point {day}{names}")


def _add(*values: Decimal) -> Decimal:
    total = Decimal(0)
    for value in values:
        total = EXACT.add(total, value)
    return total


def _rounding_of(header: Json) -> str:
    """Return the rounding that a statement shows; raise ``ValueError`` for an unknown one."""
    rounding: str = header["rounding"]
    if rounding not in _ROUNDINGS:
        raise ValueError(f"rounding: expected {' or '.join(_ROUNDINGS)}, found {_short(rounding)}")
    return rounding


def _is_collected(header: Json) -> bool:
    """Return whether the marketplace holds the customers' money; raise ``ValueError`` if it is not clear who does."""
    if header["collects"] not in COLLECTORS:
        raise ValueError(f"collects: expected {' or '.join(COLLECTORS)}, found {_short(header['collects'])}")
    return bool(header["collects"] == BY_MARKETPLACE)


class _Unit(NamedTuple):
    """The minor unit of a currency, and how a statement rounds to it."""

    currency: str
    rounding: str

    def rounded(self, value: Decimal) -> Decimal:
        return _ROUNDINGS[self.rounding].quantize(value, Decimal(1).scaleb(-self._places))

    def nearest(self, value: Fraction) -> Decimal:
        units = value * 10**self._places
        up = int(abs(units) + Fraction(1, 2)) * (1 if units > 0 else -1)
        return EXACT.scaleb(Decimal(round(units) if self.rounding == "half-even" else up), -self._places)

    @property
    def _places(self) -> int:
        return MINOR_DIGITS.get(self.currency, 0)


def _tax(commission: Decimal, unit: _Unit, row: Json) -> Decimal:
    """Return the tax on a rounded commission by the scheme and percentage that the statement shows."""
    if row["scheme"] != STANDARD:
        return unit.rounded(Decimal(0))
    return unit.rounded(EXACT.multiply(commission, Decimal(row["percent"]).scaleb(-2)))


def text_of(value: Decimal) -> str:
    """Return a decimal as files hold it: without exponent, and without a sign if it is 0."""
    return f"{abs(value) if value == 0 else value:f}"


def bounds_of(period: Period, zone: tzinfo) -> dict[str, str]:
    """Return the instants at which a month begins and ends in a time zone, as a statement shows them."""
    first = datetime.combine(date(period.year, period.month, 1), time(), zone)
    after = datetime.combine(date(period.year + period.month // 12, period.month % 12 + 1, 1), time(), zone)
    texts = (one.astimezone(UTC).isoformat().replace("+00:00", "Z") for one in (first, after))
    return dict(zip(("from", "to"), texts, strict=True))


def shown_problems(document: Json) -> Iterator[str]:
    """Yield what is wrong with members that follow from no other file: the parties, the language and the taxes."""
    for name, members in _PARTIES.items():
        party = document[name]
        yield from differences(party, {member: party.get(member) for member in members}, name)
    if document["language"] not in LANGUAGES:
        yield f"language: expected {' or '.join(LANGUAGES)}, found {_short(document['language'])}"
    for index, row in enumerate(document["taxes"]):
        yield from _profile_problems(row, f"taxes[{index}]")


def _profile_problems(profile: Json, path: str) -> Iterator[str]:
    percent = Decimal(profile["percent"])
    if profile["scheme"] not in SCHEMES:
        yield f"{path}.scheme: expected {' or '.join(SCHEMES)}, found {_short(profile['scheme'])}"
    elif profile["scheme"] == STANDARD and not 0 <= percent <= 100:  # noqa: PLR2004 - a percentage
        yield f"{path}.percent: {_short(profile['percent'])} is not a percentage"
    elif profile["scheme"] != STANDARD and percent:
        yield f"{path}.percent: expected 0, found {_short(profile['percent'])}"
    elif profile["note"] != (note := note_of(profile["scheme"], percent)):
        yield f"{path}.note: expected {note}, found {_short(profile['note'])}"


def differences(found: Any, expected: Any, path: str = "") -> Iterator[str]:  # noqa: ANN401 - JSON is any value
    """Yield each place at which JSON differs from what is right: ``days[3].net: expected 9.00, found 10.00``."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        inner = f"{path}." if path else ""
        for name in expected:
            if name in found:
                yield from differences(found[name], expected[name], f"{inner}{name}")
            else:
                yield f"{inner}{name}: is missing"
        yield from (f"{inner}{_short(name)}: is unknown" for name in found if name not in expected)
    elif isinstance(found, list) and isinstance(expected, list):
        if len(found) != len(expected):
            yield f"{path}: expected {len(expected)} entries, found {len(found)}"
        for index, (one, right) in enumerate(zip(found, expected, strict=False)):
            yield from differences(one, right, f"{path}[{index}]")
    elif found != expected or type(found) is not type(expected):
        yield f"{path}: expected {_short(expected)}, found {_short(found)}"


def _short(value: object) -> str:
    text = "null" if value is None else str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
