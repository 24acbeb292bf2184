"""Events without an agency or a currency."""

from typing import Any

import pytest

from quarterhour.file_formats.webhooks.accounts import completed, incomplete
from quarterhour.file_formats.webhooks.payload import PayloadError
from quarterhour.model.identifiers import Account, Identity


def event(id_: str, subject: str = "", **data: str) -> dict[str, Any]:
    return {"source": "s", "id": id_, "data": data} | ({"subject": subject} if subject else {})


SALE = event("sale", "42", currency="EUR", amount="9")
REFUND = event("refund", currency="EUR", refers_to="sale")
VOID = event("void", refers_to="refund")


def test_an_event_has_the_account_of_the_one_to_which_it_refers() -> None:
    assert incomplete([SALE, REFUND, VOID]) == [Identity("s", "sale"), Identity("s", "refund")]
    whole = [REFUND | {"subject": "42"}, event("void", "42", refers_to="refund", currency="EUR")]
    assert completed([SALE, REFUND, VOID], {}) == [SALE, *whole], "among the events of one delivery"
    assert completed([REFUND, VOID], {Identity("s", "sale"): Account("42", "EUR")}) == whole


def test_an_event_that_names_them_keeps_them() -> None:
    other = event("refund", "7", currency="USD", refers_to="sale")
    assert (incomplete([other]), completed([other], {})) == ([], [other])


@pytest.mark.parametrize("one", [REFUND, event("void")])
def test_an_account_that_is_not_known_is_an_error(one: dict[str, Any]) -> None:
    with pytest.raises(PayloadError, match="is not recorded yet"):
        completed([one], {})
