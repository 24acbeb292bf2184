"""The tasks of docs/console.md in Chromium: each from a link, by what a person in that role can see and reach."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from quarterhour.model.clock import ManualClock
from tests.handlers.desk import send
from tests.support.agencies import OWNER, tax
from tests.support.browser import IN_A_BROWSER, Tab, shown
from tests.support.events import ABSENT
from tests.support.openid import Issuer
from tests.support.requests import put
from tests.support.served import call, served

pytestmark = IN_A_BROWSER

NOON = datetime(2026, 10, 30, 12, tzinfo=UTC)
NOW = NOON + timedelta(days=5)
"""In November, when October is sealed."""


@pytest.fixture(scope="module")
def address(issuer: Issuer) -> Iterator[str]:
    """The address of a stack in November whose October is sealed, with one dispute and one agency not registered."""
    parameters = {**issuer.with_roles, "base_currency": "EUR"}
    with served(ManualClock(NOON), parameters) as (server, world):
        with server.turns.taken():
            put(world, "/documents/owner", {"seen": 0, "content": OWNER})
            for agency in ("harbour", "quay"):
                registered = {**tax(percent="20"), "legal_name": f"{agency.title()} Ltd"}
                put(world, f"/agencies/{agency}", {"seen": 0, "content": registered})
            rules = [{"currency": "GBP", "charges": [{"name": "commission", "percent": "8", "fixed": "0.30"}]}]
            content = {"valid_from": "2026-10-01T00:00:00Z", "rules": rules}
            put(world, "/documents/rate-card:default", {"seen": 0, "content": content})
            for day, units in ((22, "0.8705"), (23, "0.8712")):
                rate = {"units_per_base": units, "source": "ECB", "as_of": f"2026-10-{day}T14:15:00Z"}
                put(world, "/exchange-rates/GBP", rate)
            world.sell("100.00", "harbour", order_id="7001", product="a lamp")
            world.pass_time(minutes=20)
            world.report()
            world.sell("40.00", "harbour", order_id="7002", product="a clock")
            world.sell("70.00", "harbour", "EUR", order_id="7003", product="a chair")
            world.sell("55.00", "quay", order_id="7004", product="a parcel")
            world.sell("80.00", "al-mina", order_id="7005")
            world.pass_time(days=5, minutes=-20)
            world.report()
            world.stack.invoke("statements", {})
            disputed = {"source": "shop", "id": "e3", "reason": "this parcel came back"}
            assert send(world, "POST", "/statements/quay/GBP/2026-10/disputes", disputed).status == 201
            world.sell("20.00", "harbour", customer="ann", order_id="7100", commission_rate=ABSENT, quantity=2)
            world.drain()
        yield server.url


class Person:
    """Somebody who signs in with a role, and uses the console by what it shows."""

    def __init__(self, browser: Tab, issuer: Issuer, address: str, role: str, agency: str = "") -> None:
        self._browser, self._issuer, self._address = browser, issuer, address
        self._role, self._agency = role, agency
        self.follows, self.fills, self.chooses = browser.follow, browser.fill, browser.choose

    def opens(self, page: str) -> None:
        self._issuer.role, self._issuer.agency = self._role, self._agency
        self._browser.open(f"{self._address}{page}")

    def sees(self, *texts: str) -> None:
        for text in texts:
            shown(self._browser, text)

    def clicks(self, text: str) -> None:
        """Click what begins with a text, where the rest of it is a figure."""
        self._browser.click(text)

    def gives_a_reason(self, reason: str, action: str) -> None:
        self.fills("Reason", reason)
        self.follows("button", action)
        self.sees(reason)


@pytest.fixture
def _november(browser: Tab) -> Iterator[None]:
    browser.set_clock(NOW)
    yield
    assert browser.errors == []


@pytest.fixture
def controller(browser: Tab, issuer: Issuer, address: str, _november: None) -> Person:
    return Person(browser, issuer, address, "finance")


@pytest.fixture
def agency_person(browser: Tab, issuer: Issuer, address: str, _november: None) -> Person:
    return Person(browser, issuer, address, "agency", "harbour")


@pytest.fixture
def auditor(browser: Tab, issuer: Issuer, address: str, _november: None) -> Person:
    return Person(browser, issuer, address, "auditor")


def test_a_controller_finds_the_disputed_statements_of_last_month_and_why(controller: Person) -> None:
    controller.opens("/console/statements")
    controller.chooses("Period", "October 2026")
    controller.chooses("Status", "disputed")
    controller.follows("button", "Show")
    controller.sees("quay")
    controller.follows("link", "S-000003")
    controller.sees("Statement of Quay Ltd quay in GBP, October 2026", "disputed The marketplace (")
    controller.sees(") disputed the line shop e3: this parcel came back")
    controller.follows("link", "shop e3")
    controller.sees("a parcel", "7004")


def test_a_controller_finds_an_order_and_says_how_its_commission_was_computed(controller: Person) -> None:
    controller.opens("/console/events")
    controller.fills("Customer", "ann")
    controller.follows("button", "Show")
    controller.sees("7100")
    controller.follows("link", "shop e5")
    controller.sees("General rate card, version 1.", "8 % of 20", "0.30 for each of 2", "2.20")


def test_a_controller_finds_an_order_of_months_ago(controller: Person, browser: Tab) -> None:
    browser.set_clock(NOW + timedelta(days=120))
    controller.opens("/console/events")
    controller.sees("No event matches")
    controller.fills("Order", "7001")
    controller.follows("button", "Show")
    controller.sees("shop e0", "7001")


def test_a_controller_sees_what_needs_attention_and_holds_a_draft_back(controller: Person, address: str) -> None:
    controller.opens("/")
    controller.sees("1 statement is disputed", "1 draft has a failed check")
    controller.follows("link", "Mend what the checks name")
    controller.sees("Close", "2 failed", "3 of 4 released")
    controller.follows("button", "al-mina · GBP")
    controller.clicks("Hold")
    controller.fills("Reason", "they are about to register")
    controller.clicks("Hold 1 draft")
    controller.clicks("Close")
    controller.sees("2 failed", "held")
    draft = call(f"{address}/drafts/al-mina/GBP/2026-10")[1]
    assert (draft["state"], draft["decisions"][-1]["reason"]) == ("held", "they are about to register")


def test_an_agency_checks_its_statement_and_accepts_it(agency_person: Person, address: str) -> None:
    agency_person.opens("/console/statements/2026-10/harbour/GBP")
    agency_person.sees(
        "140.00", "17.50", "21.00", "Payable for this period", "Figures in GBP. Closing balance: owed by the agency"
    )
    agency_person.sees("Statement S-000002. It covers what was recorded before")
    agency_person.clicks("Show the 2 lines")
    agency_person.sees("a lamp", "a clock")
    agency_person.follows("button", "Accept")
    agency_person.gives_a_reason("as in our books", "Accept")
    assert call(f"{address}/statements/harbour/GBP/2026-10")[1]["status"] == "accepted"


def test_an_agency_disputes_a_sale_that_was_returned(agency_person: Person, address: str) -> None:
    agency_person.opens("/console/statements")
    agency_person.follows("link", "S-000001")
    agency_person.sees("Statement of Harbour Ltd harbour in EUR, October 2026")
    agency_person.clicks("Show the line")
    agency_person.follows("button", "Dispute e2")
    agency_person.gives_a_reason("this chair came back", "Dispute")
    assert call(f"{address}/statements/harbour/EUR/2026-10")[1]["status"] == "disputed"


def test_an_agency_sees_what_this_month_will_cost_so_far(agency_person: Person) -> None:
    agency_person.opens("/")
    agency_person.sees("This month: 2.20")
    agency_person.follows("link", "2.20")
    agency_person.sees("Statement of Harbour Ltd harbour in GBP, November 2026", "A preview as of")
    agency_person.sees("Commission before rounding", "+ Commission, rounded", "Payable for this period")


def test_an_auditor_proves_that_a_run_was_not_changed_since_it_was_sealed(auditor: Person) -> None:
    auditor.opens("/console/reports")
    auditor.clicks("Oct 30, 2026, 12:15")
    auditor.sees("2026-10-30T1215-2400")
    auditor.follows("button", "Verify this run")
    auditor.sees("all sums exact, chain unbroken to the first run.")


def test_an_auditor_compares_the_lines_of_a_statement_and_sees_who_changed_it(auditor: Person) -> None:
    auditor.opens("/console/statements")
    auditor.fills("Agency", "quay")
    auditor.follows("button", "Show")
    auditor.follows("link", "S-000003")
    auditor.sees(
        "Nov 4, 2026, 12:00 PM", "disputed The marketplace (", ") disputed the line shop e3: this parcel came back"
    )
    auditor.clicks("Show the line")
    auditor.sees("The sealed lines; their file has the hash of the statement", "a parcel")
    auditor.follows("button", "Verify this statement")
    auditor.sees("Proven: 1 line, 4 files as sealed, all sums exact.")


def test_an_auditor_sees_which_exchange_rate_was_in_force_since_when_and_its_source(auditor: Person) -> None:
    auditor.opens("/console/exchange-rates")
    auditor.follows("link", "GBP")
    auditor.sees("0.8712", "Oct 23, 2026, 2:15 PM", "0.8705", "Oct 22, 2026, 2:15 PM", "ECB")


def test_a_controller_cancels_a_statement_with_a_wrong_name(controller: Person, address: str) -> None:
    controller.opens("/console/statements/2026-10/quay/GBP")
    controller.follows("button", "Cancel the statement")
    controller.sees("reverses this statement whole")
    controller.fills("Reason", "the name is wrong")
    controller.follows("button", "Cancel the statement")
    controller.sees("The next release cancels this statement")
    draft = call(f"{address}/drafts/quay/GBP/2026-10")[1]
    assert (draft["state"], draft["decisions"][-1]["reason"]) == ("cancelling", "the name is wrong")
