"""Reading agencies: one as it is or was in force, and the list of all that are registered."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from quarterhour.aws.entity import Values
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import is_name, shown
from quarterhour.registry.agencies.agency import AGENCIES
from quarterhour.registry.agencies.responses import listed_agency
from quarterhour.registry.documents.keys import AGENCY, agency_document, document_pk, latest_key
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.web.access import Caller
from quarterhour.web.paging import Paging

if TYPE_CHECKING:
    from quarterhour.registry.agencies import api
    from quarterhour.web.paging import Page


@dataclass(frozen=True, slots=True)
class AgencyQueries:
    """Queries of the agencies. ``agencies`` are the spellings that one name can have."""

    documents: DocumentQueries

    def agency(self, agencies: Sequence[str], at: datetime | None) -> tuple[str, Values]:
        """Return the first agency that is registered, and the version of its document in force at an instant.

        Without an instant, the latest version. Raises ``NotFoundError`` if there is none.
        """
        found = self._registered(agencies)
        if found is None:
            raise NotFoundError(f"the agency {shown(agencies[0])} is not registered")
        agency, values = found
        return agency, values if at is None else self.documents.in_force(agency_document(agency), values, at)

    def registered_name(self, agencies: Sequence[str]) -> str:
        """Return the first agency that is registered, or else the first; raise ``NotFoundError`` if none is a name."""
        names = list(filter(is_name, agencies))
        if not names:
            raise NotFoundError(f"there is no agency {shown(agencies[0])}")
        name, _ = self._registered(names) or (names[0], None)
        return name

    def is_visible(self, agency: str, caller: Caller) -> bool:
        """Return whether an agency is registered, and the caller may see it."""
        return caller.may_see(agency) and self._registered((agency,)) is not None

    def registered(self, paging: Paging) -> "Page[api.ListedAgency]":
        """Return a page of the registered agencies with their latest versions, in the order of their names."""
        some = islice(self.documents.listed(AGENCIES.name, paging), paging.limit + 1)
        names = [values["gsi1sk"].removeprefix(AGENCY) for values in some]
        keys = [latest_key(agency_document(name)) for name in names]
        latest = {values["pk"]: values for values in self.documents.entities.get_many(keys)}
        entries = [(name, latest[key["pk"]]) for name, key in zip(names, keys, strict=True)]
        return paging.cut(entries, lambda one: listed_agency(*one), lambda one: agency_document(one[0]))

    def registered_among(self, agencies: Collection[str]) -> set[str]:
        """Return those of some agencies that are registered."""
        names = {document_pk(agency_document(one)): one for one in agencies}
        found = self.documents.entities.get_many([latest_key(agency_document(one)) for one in sorted(agencies)])
        return {names[values["pk"]] for values in found}

    def _registered(self, agencies: Sequence[str]) -> tuple[str, Values] | None:
        for agency in filter(is_name, agencies):
            values = self.documents.entities.get(latest_key(agency_document(agency)))
            if values is not None:
                return agency, values
        return None
