"""Who is paid: by the registrations of the agencies that are in force now, or that a run went by."""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from http import HTTPStatus
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from quarterhour.model import clock
from quarterhour.model.clock import iso_exact, parse_iso
from quarterhour.registry.agencies.agency import BY_AGENCY
from quarterhour.registry.documents.keys import agency_document
from quarterhour_tools.accounting.credit_transfer import BankAccount
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.accounting.postal_address import PostalAddress, postal_address
from quarterhour_tools.errors import ToolError
from quarterhour_tools.target.remote import Remote, failure, segment

AT_ONCE: Final = 8
"""The registrations that are read side by side."""


class Payee(NamedTuple):
    """Who collects, and where an agency is paid. ``hold``: why nothing is paid to it, ``None`` if it is."""

    collects: str
    name: str
    iban: str | None
    address: PostalAddress | None
    hold: str | None = None

    @property
    def account(self) -> BankAccount:
        """The account to which it is paid; its IBAN is empty if none is registered."""
        return BankAccount(self.name, self.iban or "", self.address)

    @classmethod
    def of_document(cls, document: StatementDocument) -> "Payee":
        """Return the payee as a statement has it."""
        customer = document.customer
        return cls(document.collects, document.name, customer.iban, postal_address(customer._asdict()))

    @classmethod
    def of_registration(cls, agency: str, content: Mapping[str, Any]) -> "Payee":
        """Return the payee as a registration has it, which was checked when it was written."""
        return cls(
            content.get("collects") or BY_AGENCY,
            content.get("legal_name") or agency,
            content.get("iban"),
            postal_address(content),
            content.get("payout_hold"),
        )


def payees_now(remote: Remote, agencies: Collection[str]) -> dict[str, Payee]:
    """Return the payees by the registrations in force now, of those agencies that have one."""
    at = urlencode({"at": iso_exact(clock.now())})

    def read(agency: str) -> Payee | None:
        path = f"/agencies/{segment(agency)}"
        status, answer = remote.send("GET", f"{path}?{at}")
        if status == HTTPStatus.NOT_FOUND:
            return None
        if status != HTTPStatus.OK:
            raise ToolError(failure("GET", path, status, answer))
        return Payee.of_registration(agency, answer["content"])

    return _payees(read, agencies)


def payees_before(remote: Remote, agencies: Mapping[str, datetime]) -> dict[str, Payee]:
    """Return the payees by the registrations that were known and in force at an instant of each agency."""

    def read(agency: str) -> Payee | None:
        path, at = f"/documents/{segment(agency_document(agency))}/versions", agencies[agency]
        if remote.send("GET", path)[0] == HTTPStatus.NOT_FOUND:
            return None
        for one in remote.pages(path, {}):  # the newest first
            if parse_iso(one["written_at"]) <= at and parse_iso(one["valid_from"]) <= at:
                content = remote.get(f"{path}/{one['version']}", {})["content"]
                return Payee.of_registration(agency, content)
        return None

    return _payees(read, agencies)


def _payees(read: Callable[[str], Payee | None], agencies: Collection[str]) -> dict[str, Payee]:
    with ThreadPoolExecutor(AT_ONCE) as workers:
        found = zip(agencies, workers.map(read, agencies), strict=True)
        return {agency: payee for agency, payee in found if payee}
