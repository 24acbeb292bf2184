"""The map of each provider, which is loaded with its first delivery."""

from importlib import import_module

from quarterhour.file_formats.webhooks.delivery import Delivery, Mapped
from quarterhour.file_formats.webhooks.payload import PayloadError


def events_of(delivery: Delivery) -> Mapped:
    """Return the events of a delivery, by the map of its provider."""
    module = import_module(f"quarterhour.file_formats.webhooks.{delivery.provider.value}")
    try:
        mapped: Mapped = module.events_of(delivery)
    except PayloadError as error:
        return Mapped(problem=str(error))
    return mapped
