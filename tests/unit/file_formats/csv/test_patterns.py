"""Patterns of maps: what they find, and that no pattern takes longer than the text is long."""

import subprocess
import sys

import pytest

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.lines import LONGEST as LONGEST_ROW
from quarterhour.file_formats.csv.map import load_map
from quarterhour.file_formats.csv.patterns import LONGEST, found_by
from tests.support.cases import cases


@cases(
    ("pattern", "text", "is_found"),
    [
        ("^(Sale|Refund)$", "Refund", True),
        ("^(Sale|Refund)$", "Refunds", False),
        ("und", "Refund", True),
        ("(?i)^r\u00fcck", "R\u00dcCKZAHLUNG", True),
        (".", "", False),
        ("^[\u20ac\u00a3]$", "\u20ac", True),
        (r"\d+$", "A-17", True),
    ],
)
def test_a_pattern_is_found_anywhere_in_a_text(pattern: str, text: str, *, is_found: bool) -> None:
    assert found_by(pattern)(text) is is_found


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|a)*b", "(.*)*x", "(a{0,20}){0,20}b"])
def test_a_pattern_that_other_engines_never_end_with_ends(pattern: str) -> None:
    assert not found_by(pattern)("a" * (LONGEST_ROW // 2) + "!")


@pytest.mark.parametrize("pattern", ["(", "(?=a)", r"(a)\1", "a{1001}", "((a{100}){100}){100}", "a" * (LONGEST + 1)])
def test_a_pattern_that_is_none_or_too_large_is_refused_with_its_entry(pattern: str) -> None:
    with pytest.raises(ValueError, match="pattern"):
        found_by(pattern)
    text = f"[[exclude]]\nrule = 'x'\nwhen = {{ column = 'a', matches = '{pattern}' }}\n[[event]]\n"
    with pytest.raises(MapError, match=r"exclude\[1\].when.*pattern"):
        load_map(text + "id='1'\nsource='s'\nsubject='1'\ntype='sale.recorded'\ndata={amount='1',currency='EUR'}")


def test_a_map_without_a_pattern_loads_no_engine_of_patterns() -> None:
    code = (
        "import sys; from quarterhour.file_formats.csv.map import load_map; "
        'load_map(\'[[event]]\\nid="1"\\nsource="s"\\nsubject="1"\\ntype="sale.recorded"\\n'
        'data={amount="1",currency="EUR"}\'); sys.exit(\'re2\' in sys.modules)'
    )
    done = subprocess.run([sys.executable, "-c", code], check=False)  # noqa: S603 - our own code
    assert done.returncode == 0
