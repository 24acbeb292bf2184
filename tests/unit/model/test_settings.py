"""The settings of a function."""

from datetime import timedelta

import pytest

from quarterhour.model.errors import SettingsError
from quarterhour.model.periods import PERIOD, Period
from quarterhour.model.settings import Environment
from tests.support.cases import cases

GOOD = {
    "TABLE": "Ledger",
    "NUMBER": "64",
}


def read(name: str, value: str | None) -> object:
    env = Environment({} if value is None else {name: value})
    match name:
        case "TABLE":
            return env.text(name)
        case _:
            return env.integer(name)


def test_settings_are_parsed_into_values() -> None:
    env = Environment(GOOD)
    assert env.text("TABLE") == "Ledger"
    assert env.integer("NUMBER", minimum=64) == 64
    assert env.days("NUMBER") == timedelta(days=64)
    assert env.seconds("NUMBER") == timedelta(seconds=64)


@cases(
    ("name", "value", "expected"),
    [
        ("NUMBER", "many", "a whole number of at least 0"),
        ("NUMBER", "1.5", "a whole number of at least 0"),
        ("NUMBER", "-1", "a whole number of at least 0"),
    ],
)
def test_an_invalid_setting_is_named_with_its_value_and_the_expectation(name: str, value: str, expected: str) -> None:
    with pytest.raises(SettingsError) as refused:
        read(name, value)
    assert str(refused.value).startswith(f"{name} is {value!r}: expected {expected}")


@pytest.mark.parametrize("value", [None, ""])
@pytest.mark.parametrize("name", GOOD)
def test_a_missing_setting_is_named(name: str, value: str | None) -> None:
    with pytest.raises(SettingsError, match=f"{name} is not set"):
        read(name, value)


def test_a_number_below_the_minimum_is_refused_with_the_minimum() -> None:
    with pytest.raises(SettingsError, match="SHARDS is '0': expected a whole number of at least 1"):
        Environment({"SHARDS": "0"}).integer("SHARDS", minimum=1)


def test_an_optional_setting_may_be_empty_or_missing_but_not_invalid() -> None:
    assert Environment({"FIRST": "2026-11"}).optional("FIRST", PERIOD, Period.parse) == Period(2026, 11)
    assert Environment({"FIRST": ""}).optional("FIRST", PERIOD, Period.parse) is None
    assert Environment({}).optional("FIRST", PERIOD, Period.parse) is None
    with pytest.raises(SettingsError, match="FIRST is '2026-13': expected a month such as 2026-11"):
        Environment({"FIRST": "2026-13"}).optional("FIRST", PERIOD, Period.parse)
