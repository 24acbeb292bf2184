"""What maps read in the texts of cells: months of other languages, signs of several currencies, a word in a text."""

import io
from typing import Any

import pytest

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.events import converted
from quarterhour.file_formats.csv.lines import numbered
from quarterhour.file_formats.csv.map import load_map
from quarterhour.file_formats.csv.table import read_table
from tests.support.cases import cases

MAP = """
[numbers]
thousands = ","
currencies = { "$" = "USD CAD", "CA$" = "CAD", "£" = "GBP" }

[time]
formats = ["%d. %b %Y", "%d-%b-%y"]
months = { "März" = 3, "Mai" = 5, "Okt" = 10 }

[lookups.order]
column = "Title"
after = "Order #"

[[event]]
id = "{order}"
source = "shop"
subject = "42"
type = "sale.recorded"
time = "{Day}"
data = { amount = "{Amount}", currency = "{Currency}" }
"""


def outcome(row: str) -> dict[str, Any] | str:
    lines = io.StringIO(f"Title|Day|Amount|Currency\n{row}\n", newline="")
    csv_map = load_map(MAP)
    [found] = converted(read_table(numbered(lines), csv_map.file, csv_map.used_by), csv_map)
    if found.bad:
        return found.bad
    (event,) = found.events
    return event.body


@cases(
    ("day", "time"),
    [
        ("1. März 2026", "2026-03-01T00:00:00Z"),
        ("1. Ma\u0308rz 2026", "2026-03-01T00:00:00Z"),  # the other form of ä
        ("2. mai 2026", "2026-05-02T00:00:00Z"),
        ("31. Okt. 2026", "2026-10-31T00:00:00Z"),
        ("5. Nov 2026", "2026-11-05T00:00:00Z"),  # a name that the map does not list is English
        ("9-Okt-26", "2026-10-09T00:00:00Z"),
    ],
)
def test_a_map_names_the_months_of_a_language(day: str, time: str) -> None:
    found = outcome(f"Order #1|{day}|5|USD")
    assert isinstance(found, dict)
    assert found["time"] == time


@cases(
    ("amount", "currency", "expected"),
    [
        ("$5", "USD", "5"),
        ("-$5", "CAD", "event[1]"),  # a sale is not below 0
        ("$1,250.00", "CAD", "1250.00"),
        ("CA$5", "CAD", "5"),
        ("CA$5", "USD", "Amount is 'CA$5', in CAD, but the currency of the event is USD"),
        ("$5", "EUR", "Amount is '$5', in USD or CAD, but the currency of the event is EUR"),
        ("$5£", "USD", "event[1].data.amount: Amount is '$5£', not a number of the form 1,234.56"),
    ],
)
def test_a_sign_can_stand_for_several_currencies(amount: str, currency: str, expected: str) -> None:
    found = outcome(f"Order #1|9-Okt-26|{amount}|{currency}")
    if isinstance(found, dict):
        assert found["data"]["amount"] == expected
    elif not expected.startswith("event[1]"):
        assert found.startswith(expected)


@cases(
    ("title", "order"),
    [
        ("Payment for Order #4137400001", "4137400001"),
        ("Partial refund for Order #41 (late)", "41"),
        ("Order #7 and Order #8", "7"),
    ],
)
def test_a_word_is_read_behind_a_text(title: str, order: str) -> None:
    found = outcome(f"{title}|9-Okt-26|5|USD")
    assert isinstance(found, dict)
    assert found["id"] == order


def test_a_text_without_the_word_has_no_value() -> None:
    assert (
        outcome("Listing fee|9-Okt-26|5|USD")
        == "event[1].id: Title is 'Listing fee', without 'Order #' of lookups.order"
    )


@cases(
    ("old", "new", "message"),
    [
        ("= 10 }", "= 13 }", "time: months must have the names of months"),
        ("= 10 }", "= 0 }", "time.months.Okt: must be a whole number above 0"),
        ('"Okt" = 10', '"1 Okt" = 10', "time: months must have the names of months"),
        (
            '"USD CAD"',
            '"USD XXQ"',
            "numbers: currencies: 'USD XXQ' is not the ISO 4217 code of a currency",
        ),
        ('"USD CAD"', '" "', "numbers: currencies: ' ' is not"),
        ('after = "Order #"', "", "lookups.order.texts: must list the texts of the column, or `after` must say"),
        (
            'after = "Order #"',
            'after = "Order #"\ntexts = { a = ["b"] }',
            "lookups.order.texts: must list the texts of the column, or `after` must say",
        ),
    ],
)
def test_a_wrong_entry_is_named(old: str, new: str, message: str) -> None:
    assert old in MAP
    with pytest.raises(MapError) as raised:
        load_map(MAP.replace(old, new))
    assert str(raised.value).startswith(message)
