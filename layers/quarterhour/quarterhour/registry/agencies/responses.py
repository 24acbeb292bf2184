"""Agencies in the responses of the API: a version of a registration, and an entry of the list."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from quarterhour.model import exact_json
from quarterhour.registry.agencies.registration import ACTIVE

if TYPE_CHECKING:
    from quarterhour.registry.agencies import api

_LISTED: Final = ("legal_name", "country", "currency", "group", "external_ids")


def shown_agency(agency: str, values: Mapping[str, Any]) -> "api.AgencyVersion":
    """Return a version of an agency's document as the API shows it, without its content."""
    return {
        "agency": agency,
        "version": int(values["version"]),
        "sha256": values["sha256"],
        "written_at": values["written_at"],
        "written_by": values["written_by"],
        "valid_from": values["valid_from"],
    }


def listed_agency(agency: str, values: Mapping[str, Any]) -> "api.ListedAgency":
    """Return the latest version of an agency's document as the list shows it; what was not registered is left out."""
    registered = exact_json.parse(values["content"])
    listed: api.ListedAgency = {
        "agency": agency,
        "version": int(values["version"]),
        "valid_from": values["valid_from"],
        "status": registered.get("status") or ACTIVE,
    }
    for name in _LISTED:
        if registered.get(name) is not None:
            listed[name] = registered[name]
    return listed
