"""Who paid, learnt from the lines of a bank's file: by the console and by the command alike."""

import json
from typing import Any

import pytest

from quarterhour_tools.accounting.payers import with_payer
from tests.support.console_modules import NEEDS_NODE, evaluated

NAME, IBAN = "Old Mill Holding", "GB33BUKB20201555555555"
LEARNT = {"payer_names": [NAME], "payer_ibans": [IBAN]}
CASES: dict[str, tuple[dict[str, Any], dict[str, str], dict[str, Any]]] = {
    "both": ({"country": "GB"}, {"name": NAME, "iban": "GB33 BUKB 2020 1555 5555 55"}, {"country": "GB", **LEARNT}),
    "after others": (
        {"payer_names": ["A"]}, {"name": f" {NAME} ", "iban": ""}, {"payer_names": ["A", NAME]},
    ),
    "its own": ({"legal_name": NAME, "iban": IBAN}, {"name": NAME, "iban": IBAN}, {"legal_name": NAME, "iban": IBAN}),
    "known": (LEARNT, {"name": NAME, "iban": IBAN}, LEARNT),
    "nobody": ({}, {"name": "", "iban": ""}, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_the_command_adds_what_a_registration_lacks(case: str) -> None:
    content, line, expected = CASES[case]
    assert with_payer(content, line) == expected


@NEEDS_NODE
@pytest.mark.parametrize("case", CASES)
def test_the_console_adds_the_same(case: str) -> None:
    content, line, expected = CASES[case]
    texts = (json.dumps(one) for one in (content, line))
    assert evaluated("payments/payer-content.js", f"module.withPayer({', '.join(texts)})") == expected
