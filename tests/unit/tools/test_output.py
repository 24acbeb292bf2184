"""What a terminal shows of files and answers."""

import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from quarterhour.model.fields import printable
from quarterhour_tools.output import as_json, counted, print_table

ANY = st.text(st.characters(codec=None))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Zoë 東京", "Zoë 東京"),
        ("a\x1b[31mred", r"a\x1b[31mred"),
        ("line\nline\r\x9b\x7f", r"line\nline\r\x9b\x7f"),
        ("\u202egnp", r"\u202egnp"),
        ("\ud800", r"\ud800"),
        ("x" * 600, "x" * 500 + "..."),
    ],
)
def test_control_characters_are_escaped_and_what_is_long_is_cut(text: str, shown: str) -> None:
    assert printable(text) == shown


@pytest.mark.parametrize(("number", "shown"), [(0, "0 lines"), (1, "1 line"), (2000, "2,000 lines")])
def test_one_thing_is_named_in_the_singular(number: int, shown: str) -> None:
    assert counted(number, "line") == shown


@given(ANY)
def test_nothing_that_is_shown_can_steer_a_terminal(text: str) -> None:
    assert printable(text).isprintable()


@given(st.dictionaries(ANY, st.one_of(ANY, st.lists(st.integers()))))
def test_json_holds_the_same_values_and_no_control_character(value: dict[str, object]) -> None:
    text = as_json(value)
    assert json.loads(text) == value
    assert all(line.isprintable() for line in text.split("\n"))


@pytest.mark.parametrize("width", [20, 80, 200])
def test_a_table_shows_every_figure_and_id_whole(width: int) -> None:
    cells = ["id-" + "x" * 100, "6807.2929000000", "1234567890.12"] * 3
    table = Table(*(f"c{at}" for at in range(9)), box=box.SIMPLE)
    table.add_row(*map(Text, cells))
    print_table(Console(file=(shown := io.StringIO()), width=width), table)
    assert any(line.split() == cells for line in shown.getvalue().splitlines())


def test_a_quiet_console_shows_no_table() -> None:
    print_table(Console(file=(shown := io.StringIO()), quiet=True), Table("amount"))
    assert not shown.getvalue()
