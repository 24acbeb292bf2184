"""What the parts of a statement's page share: the document, its language and its figures."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from quarterhour.model import money
from quarterhour.statements.document.collected import is_paid_out
from quarterhour.statements.document.language import language_of
from quarterhour.web.html.markup import Html, code, short

StatementContent = Mapping[str, Any]

CHARGED: Final = ("sales", "voids", "refunds", "adjustments", "other")
"""The kinds of lines that have a commission."""


class PagePart(ABC):
    """A part of the page of a document."""

    def __init__(self, document: StatementContent) -> None:
        self._of = document
        self._in = language_of(document["language"])
        self._currency: str = document["currency"]
        # What is still open of the closing balance.
        self._open = money.subtract(Decimal(document["closing"]), Decimal(document["paid_since"]))
        self._lines_file = code(document["lines_file"]["name"])

    @abstractmethod
    def sections(self) -> Iterator[Html]:
        """Yield the sections of the part; those without content are empty."""

    @property
    def _is_payout(self) -> bool:
        """Whether the marketplace pays the closing balance to the agency."""
        return self._open < 0 and is_paid_out(self._of)

    @property
    def _balance_name(self) -> str:
        """The key of what the closing balance is to the agency."""
        if self._open > 0:
            return "amount_due"
        return "payout" if self._is_payout else "credit_balance" if self._open else "nothing_to_pay"

    @property
    def _has_charge(self) -> bool:
        """Whether the document has a commission or a tax, or lines that come to none."""
        return bool(self._of["period_charges"]) or any(self._of["by_kind"][kind]["lines"] for kind in CHARGED)

    def _is_shown(self, tax: StatementContent) -> bool:
        return self._has_charge or bool(Decimal(tax["base"]))

    def _exact(self, amount: str) -> str:
        return self._in.exact(amount, self._currency)

    def _rounded(self, amount: str) -> str:
        return self._in.rounded(amount, self._currency, self._of["rounding"])

    def _money(self, amount: str) -> Html:
        return short(self._in.money(amount, self._currency))

    def _sums(self, some: StatementContent) -> list[str]:
        """Return the figures of some lines: their number, net sales and commission."""
        return [self._in.count(some["lines"]), self._rounded(some["net"]), self._rounded(some["commission"])]

    def _figure_heads(self, amount: str) -> list[str]:
        """Return the heads of ``_sums``."""
        return [self._in["transactions"], *self._heads(amount, "commission")]

    def _heads(self, *keys: str) -> list[str]:
        return [f"{self._in[key]} ({self._currency})" for key in keys]


def sentences(*sentences: Html) -> Html:
    """Return sentences with a blank between them."""
    return Html(" ".join(filter(None, sentences)))


def agency_name(document: StatementContent) -> str:
    """Return the legal name of the document's agency, or its id without one."""
    return str(document["customer"]["legal_name"] or document["agency"])
