"""Reads the sealed lines of the ledger that a provider's lines can match."""

import io
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.file_formats.csv.provider_map import CHARGES, EXTRA, ProviderMap
from quarterhour.ledger.events.event import reference
from quarterhour.ledger.recording.pricing import BY_REFUND
from quarterhour.model import exact_json, money
from quarterhour.model.charges import read_charges
from quarterhour.model.identifiers import Identity
from quarterhour.model.periods import Period
from quarterhour.proof.period import EARLIER
from quarterhour.reports.keys import part_of_lines
from quarterhour.reports.lines import Line, read_lines
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError
from quarterhour_tools.reconciliation.lines import (
    KIND_OF,
    RECONCILES,
    SOURCE,
    LedgerLine,
    group_of,
    kind_of_group,
)

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

_AT_ONCE: Final = 16
"""The files that are fetched side by side, and kept packed until they are read."""


class Scope(NamedTuple):
    """The lines that count: of some agencies and some sources; empty for all."""

    agencies: Collection[str]
    sources: Collection[str]


class SealedLines:
    """The sealed lines from the month before a period on. ``until``: the end of the last sealed quarter-hour."""

    def __init__(self, files: Objects, period: Period, provider: ProviderMap, scope: Scope, *, fees: bool) -> None:
        self._files = files
        self._since = period.previous
        self._provider = provider
        self._scope = scope
        self._fees = fees
        parts = [part for part in map(part_of_lines, files.keys()) if part]
        self.until: datetime | None = max((part.quarter_hour.end for part in parts), default=None)
        first = self._since.first_day - EARLIER
        self._keys = [part.lines_key for part in parts if part.quarter_hour.day >= first]

    def lines(self) -> Iterator[LedgerLine]:
        """Yield the lines of the kinds that the map has; raise ``ToolError`` if a file cannot be read."""
        keys = iter(self._keys)
        with ThreadPoolExecutor(_AT_ONCE) as workers:
            while some := list(islice(keys, _AT_ONCE)):
                for key, content in zip(some, workers.map(self._content, some), strict=True):
                    try:
                        yield from filter(None, map(self._line, read_lines(io.BytesIO(content))))
                    except (ValueError, ArithmeticError, OSError, EOFError) as error:
                        raise ToolError(f"{key} cannot be read: {error}") from error

    def _content(self, key: str) -> bytes:
        try:
            with self._files.open(key) as file:
                return file.read()
        except OSError as error:
            raise ToolError(f"{key} cannot be read: {error}") from error

    def _line(self, line: Line) -> LedgerLine | None:
        kind, source = KIND_OF.get(line["type"]), line["source"]
        if kind is None or (self._scope.sources and source not in {*self._scope.sources, SOURCE}):
            return None
        period = line["period"]
        identity = Identity(source, line["id"])
        extra = _Extra(line[EXTRA])
        if source == SOURCE:
            group = extra.text(RECONCILES)
            if kind_of_group(group) not in self._provider.match:
                return None
        elif kind not in self._provider.match or period < str(self._since):
            return None
        else:
            values = [_value(line, extra, name) for name in self._provider.match[kind]]
            group = group_of(kind, values if all(values) else ["", "", *identity])
        return LedgerLine(
            identity,
            line["type"],
            group,
            Decimal(line["amount"]),
            line["currency"],
            self._fee(line, extra) if self._fees else None,
            line["agency"],
            period,
            None if line["terms"] == BY_REFUND else reference(source, line),  # of a void, that is no sale
            not self._scope.agencies or line["agency"] in self._scope.agencies,
        )

    def _fee(self, line: Line, extra: "_Extra") -> Decimal | None:
        prefix, _, name = self._provider.fee_field.partition(".")
        if prefix == CHARGES:
            return read_charges(line["charges"], Decimal(line["commission"])).amounts.get(name)
        return money.parse_decimal(_value(line, extra, self._provider.fee_field))


class _Extra:
    """The sender's own object of a line, parsed once if it is needed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._values: Mapping[str, Any] | None = None

    def text(self, name: str) -> str:
        """Return a member as text; the empty text if there is none."""
        if not self._text:
            return ""
        if self._values is None:
            values = exact_json.parse(self._text)
            self._values = values if isinstance(values, dict) else {}
        value = self._values.get(name)
        if isinstance(value, Decimal):
            return money.plain(value)
        return value if isinstance(value, str) else ""


def _value(line: Line, extra: _Extra, name: str) -> str:
    prefix, dot, member = name.partition(".")
    return extra.text(member) if dot and prefix == EXTRA else line[name]
