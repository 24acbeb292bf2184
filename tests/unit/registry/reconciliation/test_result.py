"""The schema of the results of reconciliations."""

from decimal import Decimal
from typing import Any

import pytest

from quarterhour.model.errors import InvalidError
from quarterhour.registry.documents.plan import read_draft
from quarterhour.registry.reconciliation.result import RESULTS

NAME = "reconciliation:2026-11:stripe"
FIGURES = {"provider": "10.00", "ledger": "0", "difference": "10.00"}
TOTAL = {"measure": "amount", "currency": "EUR", **FIGURES}
ROW_SUM = {
    "kind": "excluded",
    "rule": "fees",
    "rows": Decimal(2),
    "unread": Decimal(0),
    "amounts": {"EUR": "-1.00"},
}
DIFFERENCE = {
    **dict.fromkeys(("line", "name", "kind", "label", "agency", "events", "note"), ""),
    "currency": "EUR",
    **FIGURES,
}


def content(**changed: Any) -> dict[str, Any]:
    counts = dict.fromkeys(("rows", "outside", "difference_count", "problem_count", "proposals"), Decimal(0))
    return {
        "period": "2026-11",
        "provider": "stripe",
        "file": "balance.csv",
        "made_at": "2026-12-05T10:00:00.000Z",
        **counts,
        "problems": ["line 3: x"],
        "row_sums": [ROW_SUM],
        "totals": [TOTAL],
        "sums": [{**TOTAL, "label": "missing here", "findings": Decimal(1)}],
        "differences": [DIFFERENCE],
        **changed,
    }


def test_a_result_is_valid_from_the_instant_of_its_making() -> None:
    draft = read_draft(NAME, {"seen": Decimal(0), "content": content()}, [RESULTS])
    assert draft.kind == "reconciliation"
    assert draft.valid
    assert draft.valid.valid_from.isoformat() == "2026-12-05T10:00:00+00:00"


@pytest.mark.parametrize(
    ("name", "changed", "field"),
    [
        ("reconciliation:2026-13:stripe", {}, "document"),
        ("reconciliation:2026-11", {}, "document"),
        (NAME, {"rows": Decimal(-1)}, "content.rows"),
        (NAME, {"period": "November"}, "content.period"),
        (NAME, {"more": 1}, "content.more"),
        (NAME, {"differences": [DIFFERENCE] * 201}, "content.differences"),
        (NAME, {"totals": [{**TOTAL, "provider": "1e5"}]}, "content.totals[0].provider"),
        (NAME, {"row_sums": [{**ROW_SUM, "kind": "left out"}]}, "content.row_sums[0].kind"),
        (NAME, {"row_sums": [{**ROW_SUM, "amounts": {"EUR": "one"}}]}, "content.row_sums[0].amounts"),
        (NAME, {"sums": [TOTAL]}, "content.sums[0].label"),
        (NAME, {"problems": ["x" * 1001]}, "content.problems"),
    ],
)
def test_a_wrong_result_is_refused_with_its_field(name: str, changed: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidError) as refused:
        read_draft(name, {"seen": Decimal(0), "content": content(**changed)}, [RESULTS])
    assert field in {one.field for one in refused.value.problems}


def test_a_result_is_an_object() -> None:
    with pytest.raises(InvalidError, match="is not an object"):
        read_draft(NAME, {"seen": Decimal(0), "content": "none"}, [RESULTS])
