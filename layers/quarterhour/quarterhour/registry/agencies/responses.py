"""Agencies in the responses of the API: a version of a registration, and an entry of the list."""

from collections.abc import Mapping
from typing import Any, Final

from quarterhour.aws.entity import Values
from quarterhour.model import exact_json
from quarterhour.registry.agencies.agency import ACTIVE

_SHOWN: Final = ("sha256", "written_at", "written_by", "valid_from")
_LISTED: Final = ("legal_name", "country", "currency", "group", "status")


def shown_agency(agency: str, values: Mapping[str, Any]) -> Values:
    """Return a version of an agency's document as the API shows it, without its content."""
    return {"agency": agency, "version": int(values["version"]), **{name: values[name] for name in _SHOWN}}


def listed_agency(agency: str, values: Mapping[str, Any]) -> Values:
    """Return the latest version of an agency's document as the list shows it; what was not registered is left out."""
    registered = exact_json.parse(values["content"])
    facts = {name: registered[name] for name in _LISTED if registered.get(name) is not None}
    facts.setdefault("status", ACTIVE)
    return {"agency": agency, "version": int(values["version"]), "valid_from": values["valid_from"], **facts}
