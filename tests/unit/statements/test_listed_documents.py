"""The documents of a statement in lists: those of a release, and the one of a statement of 0.2.0."""

from decimal import Decimal

from quarterhour.aws.items import from_item
from quarterhour.statements.queries import shown_documents
from tests.support.released import Release


def test_a_statement_of_0_2_is_one_document_whose_amount_is_what_it_adds_to_the_balance() -> None:
    items = [from_item(item) for item in Release("0.2.0").lines("entity")]
    statements = [values for values in items if "closing" in values and "number" in values]
    assert len(statements) == 5
    for values in statements:
        (document,) = shown_documents(values)
        assert (document["number"], document["document"]) == (values["number"], values["document"])
        assert (document["issued_on"], document["due_on"], document["cancels"]) == (None, None, None)
        before = Decimal(values["opening"]) - Decimal(values["brought_forward"])
        closing, payments = Decimal(values["closing"]), Decimal(values["payments"])
        assert Decimal(document["amount"]) == closing + payments - before
    assert {values["document"] for values in statements} == {"statement", "credit_note"}
