"""What is open of the documents of an account after its sealed payments, by the rule of the receivables."""

from collections.abc import Iterable, Sequence

from quarterhour.model import money
from quarterhour.statements.listing import CREDIT_NOTE, STATEMENT_DOCUMENT
from quarterhour.statements.receivables.plan import Allocation, BilledDocument, NamedPayment, allocate
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.accounting.sealed_payments import SealedPayment


def allocated(documents: Iterable[StatementDocument], payments: Sequence[SealedPayment]) -> Allocation:
    """Return the payments of an account, allocated to its documents."""
    billed = [
        BilledDocument(
            one.period,
            one.number,
            CREDIT_NOTE if one.is_credit_note else STATEMENT_DOCUMENT,
            one.amount,
            one.issued_on,
            one.due_on,
            one.cancels,
        )
        for one in documents
    ]
    named = [NamedPayment(one.identity, one.statement, one.amount) for one in payments if one.statement]
    return allocate(billed, money.total(one.amount for one in payments), named)
