"""The map that an argument names, and the values that it asks for."""

import argparse
from pathlib import Path
from typing import Final

from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.map import CsvMap, shipped_map, shipped_maps

MAPS_OF_PROVIDERS: Final = {
    "shopify": "shopify_orders",
    "stripe": "stripe_payments",
    "woocommerce": "woocommerce_items",
}
"""The map of each provider's export that makes the events of its webhooks; its value ``webhooks`` says if they come."""


def read_map(name: str) -> str:
    """Return the text of a map: a file, or the name of a map that comes with the tools; raise `MapError` if neither."""
    try:
        return shipped_map(name) or Path(name).read_text("utf-8")
    except (OSError, UnicodeError) as error:
        shipped = ", ".join(shipped_maps())
        raise MapError("map", f"cannot be read: {error}; the maps that come with the tools are {shipped}") from None


def setting(text: str) -> tuple[str, str]:
    """Parse a value that a map asks for; raise `ArgumentTypeError` for any other text."""
    name, equals, value = text.partition("=")
    if not (name and equals and value):
        raise argparse.ArgumentTypeError("expected NAME=VALUE")
    return name, value


def settings_of(csv_map: CsvMap, given: dict[str, str]) -> dict[str, str]:
    """Return the values that a map asks for, and those given in place of its own.

    Raises `MapError` if one is missing or unknown.
    """
    for name, meaning in csv_map.settings.items():
        if name not in given:
            raise MapError(f"settings.{name}", f"give --set {name}=...: {meaning}")
    for name in given:
        if name not in {*csv_map.settings, *csv_map.values}:
            raise MapError(f"settings.{name}", "the map asks for no such value")
    return given
