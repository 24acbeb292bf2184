"""The part of a statement's page about its charges: by name, and how those of the whole period were computed."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from quarterhour.model import money
from quarterhour.model.charges import COMMISSION
from quarterhour.statements.document.page_part import PagePart, StatementContent
from quarterhour.web.html.markup import NOTHING, Html, Row, escaped, name, section, table

_MINIMUM: Final = "minimum"


class ChargesPart(PagePart):
    """The charges by name, if there are others than ``commission``, and the tiers and monthly charges."""

    def sections(self) -> Iterator[Html]:
        """Yield the sections of the part."""
        yield self._charges()
        yield self._of_period()

    def _charges(self) -> Html:
        document, words = self._of, self._in
        sums: dict[str, Decimal] = {}
        for one in (one for row in document["taxes"] for one in row["charges"]):
            sums[one["name"]] = money.add(sums.get(one["name"], money.ZERO), Decimal(one["amount"]))
        if sums.keys() <= {COMMISSION}:
            return NOTHING
        rows = [Row([self._name(of)], [self._exact(money.plain(amount))]) for of, amount in sums.items()]
        rows.append(Row([words.html("all")], [self._exact(document["commission"])], strong=True))
        title = words["charges"]
        return section(title, table(title, [words["charge"]], self._heads("amount"), rows))

    def _of_period(self) -> Html:
        words, charges = self._in, self._of["period_charges"]
        if not charges:
            return NOTHING
        rows = [row for charge in charges for row in self._rows(charge)]
        title = words["of_period"]
        heads = self._heads("turnover", "amount")
        return section(title, table(title, [words["charge"], words["terms"]], heads, rows))

    def _rows(self, charge: StatementContent) -> Iterator[Row]:
        """Yield the tiers of a charge, what was charged before, and what this document charges."""
        words, shown = self._in, self._name(charge["name"])
        for tier in charge["tiers"]:
            yield Row([shown, self._tier(tier)], [self._rounded(tier["turnover"]), self._rounded(tier["commission"])])
        before = Decimal(charge.get("charged_before", "0"))
        if before:
            amount = self._rounded(money.plain(money.negated(before)))
            yield Row([shown, words.html("charged_before")], [None, amount])
        if before or not charge["tiers"]:
            terms = NOTHING if "stack" in charge else self._terms(charge)
            yield Row([shown, terms], [None, self._rounded(charge["amount"])], strong=bool(before))

    def _name(self, charge: str) -> Html:
        return self._in.html("commission") if charge == COMMISSION else name(charge)

    def _tier(self, tier: StatementContent) -> Html:
        words = self._in
        bounds = {key: escaped(self._exact(tier[key])) for key in ("from", "to") if tier[key] is not None}
        key = "tier_to" if tier["to"] is not None else "tier"
        return words.html(key, percent=escaped(words.percent(Decimal(tier["percent"]))), **bounds)

    def _terms(self, charge: StatementContent) -> Html:
        """Return how a monthly charge was computed."""
        words, amount = self._in, charge["definition"].rpartition("/")[2]
        if f"/{_MINIMUM}/" in charge["definition"]:
            return words.html("up_to", amount=self._money(amount))
        if charge["days"] == charge["of_days"]:
            return words.html("whole_month")
        days = {key: escaped(words.count(charge[of])) for key, of in (("days", "days"), ("of", "of_days"))}
        return words.html("by_days", **days)
