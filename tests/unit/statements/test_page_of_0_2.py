"""The page of a statement of schema 1: the bytes that 0.2.0 wrote, for ever."""

from hashlib import sha256
from typing import Any

import pytest

from quarterhour.statements.document.files import PAGES
from quarterhour.statements.page_of_0_2 import page_of_0_2
from tests.support.statement_documents import NOBODY, of_0_2_0

STANDARD = {"scheme": "standard", "percent": "20", "note": "VAT 20 %"}
WHY = "the agency has no tax profile at the cut-off"
WITHOUT_RATE = {
    "currency": "EUR",
    **dict.fromkeys(("net", "commission", "payments")),
    "missing": ["202611010130"],
}
BARE = {"document": "credit_note", "customer": NOBODY, "previous": None, "base": WITHOUT_RATE}


@pytest.mark.parametrize(
    ("document", "digest"),
    [
        (of_0_2_0(STANDARD), "fbc54e565aec0e8378407b5d018840bb0ef1951a2c95eec847a6903c655d0296"),
        (
            of_0_2_0(None, issued=False, not_issued=WHY, **BARE),
            "43936c9ee07dbe64dfefab036936df6b7dda30bffd4a9201fef9ac32e8d149a4",
        ),
    ],
)
def test_a_page_has_the_bytes_that_0_2_0_gave_it(document: dict[str, Any], digest: str) -> None:
    assert sha256(page_of_0_2(document)).hexdigest() == digest


def test_schema_1_has_this_page() -> None:
    assert PAGES[1] is page_of_0_2
