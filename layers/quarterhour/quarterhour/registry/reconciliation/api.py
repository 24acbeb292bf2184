"""The result of a reconciliation in a request, as types."""

from typing import Annotated, Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import Count, Currency, Month, Name, SentDecimal, SentInstant, constrained
from quarterhour.registry.reconciliation.result import MAX_DIFFERENCES, MAX_SUMS
from quarterhour.registry.reconciliation.result import MAX_PROBLEMS as MAX_RESULT_PROBLEMS
from quarterhour.registry.reconciliation.result import MAX_TEXT as MAX_TEXT_OF_RESULT

ResultText = Annotated[str, constrained(maxLength=MAX_TEXT_OF_RESULT)]


class ReconciliationTotal(TypedDict):
    """What provider and ledger have of a measure in a currency, and the difference."""

    measure: Literal["amount", "fee"]
    currency: Currency
    provider: SentDecimal
    ledger: SentDecimal
    difference: SentDecimal


class ReconciliationSum(ReconciliationTotal):
    """What one label, such as `missing here`, explains of a total."""

    label: ResultText
    findings: Count


class ReconciliationDifference(TypedDict):
    """Lines that do not match; one for each currency."""

    line: ResultText
    """Where they begin in the file; empty if they are not in it."""
    name: ResultText
    kind: ResultText
    label: ResultText
    currency: Currency
    provider: SentDecimal
    ledger: SentDecimal
    difference: SentDecimal
    agency: ResultText
    events: ResultText
    note: ResultText


class ReconciliationData(TypedDict):
    """The result of comparing a provider's file with the sealed ledger."""

    period: Month
    provider: Name
    file: ResultText
    made_at: SentInstant
    sealed_until: NotRequired[SentInstant | None]
    """The end of the last sealed quarter-hour; without it, none is sealed."""
    rows: Count
    others: Count
    """The rows of which the map makes no line."""
    outside: Count
    """The lines of other months."""
    difference_count: Count
    problem_count: Count
    proposals: Count
    problems: Annotated[list[ResultText], constrained(maxItems=MAX_RESULT_PROBLEMS)]
    totals: Annotated[list[ReconciliationTotal], constrained(maxItems=MAX_SUMS)]
    sums: Annotated[list[ReconciliationSum], constrained(maxItems=MAX_SUMS)]
    differences: Annotated[list[ReconciliationDifference], constrained(maxItems=MAX_DIFFERENCES)]
