"""Drafts and statements: what each account owes for a month, from the first sale to the released documents."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from quarterhour.model.errors import ConflictError, InvalidError, SealedFileError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.statements import day_lines, plan, service
from quarterhour.statements.keys import STATEMENTS, WORK, statement_prefix
from quarterhour_tools.emulator.http_api import Request
from tests.support.agencies import FULL, tax
from tests.support.events import Cloud, adjustment, cloud_event, refund, sale, void
from tests.support.requests import events_request
from tests.support.statement_plans import unpacked
from tests.support.system import World, opened

OCTOBER, NOVEMBER = Period(2026, 10), Period(2026, 11)
EVE = datetime(2026, 10, 31, 22, tzinfo=UTC)
LONDON: dict[str, str | int] = {"BusinessTimeZone": "Europe/London", "PeriodGraceDays": 1, "FirstPeriod": "2026-10"}
LONG = "字" * 200
OWNER = {
    "legal_name": "Market Ltd",
    "address": "1 Quay, London",
    "country": "GB",
    "vat_id": "GB980780684",
    "iban": "GB82WEST12345698765432",
}


@dataclass(frozen=True, slots=True)
class Marketplace:
    """The system, with what a marketplace does."""

    world: World

    def record(self, *events: Cloud) -> None:
        answer = self.world.stack.request(events_request(list(events)))
        assert [one["verdict"] for one in answer.json()["items"]] == ["recorded"] * len(events), answer.json()

    def write(self, path: str, content: dict[str, Any], seen: int = 0) -> None:
        body = json.dumps({"seen": seen, "content": content}).encode()
        headers = (("content-type", "application/json"), ("host", "localhost"))
        answer = self.world.stack.request(Request("PUT", path, headers=headers, body=body))
        assert answer.status in {200, 201}, answer.json()

    def until(self, instant: datetime) -> None:
        """Let time pass, and seal what has closed by then."""
        self.world.drain()
        self.world.clock.advance_to(instant)
        self.world.report()

    def seal(self, event: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = self.world.stack.invoke("statements", event or {})
        return result

    def watch(self) -> Any:
        return self.world.stack.invoke("watch", {})["statements_due"]

    def statement(self, period: Period, agency: str, currency: str = "GBP") -> dict[str, Any]:
        content = self.read(statement_prefix(period, Account(agency, currency)) + "statement.json")
        found: dict[str, Any] = json.loads(content)
        return found

    def lines(self, period: Period, agency: str, currency: str = "GBP") -> list[dict[str, str]]:
        content = self.read(statement_prefix(period, Account(agency, currency)) + "lines.csv.gz")
        return list(csv.DictReader(io.StringIO(unpacked(content), newline="")))

    def register(self, *agencies: str) -> None:
        """Register the marketplace, and agencies that are complete."""
        self.write("/documents/owner", OWNER)
        for agency in agencies:
            self.write(f"/agencies/{agency}", tax())

    def drafts(self, period: Period) -> list[dict[str, str]]:
        return self._rows(f"statements/{period}/drafts.csv")

    def listed(self, release: int) -> list[dict[str, str]]:
        """Return the documents of a release."""
        return self._rows(f"statements/releases/{release:06d}/statements.csv")

    def _rows(self, key: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.read(key).decode(), newline="")))

    def waiting(self) -> dict[str, list[str]]:
        """Return the drafts without a statement, by agency, with the names of their failed checks."""
        answer = self.world.stack.request(Request("GET", "/drafts", headers=(("host", "localhost"),)))
        return {
            one["agency"]: [check["check"] for check in one["checks"] if check["level"] == "failed"]
            for one in answer.json()["items"]
        }

    def read(self, key: str) -> bytes:
        return self.world.stack.bucket.open(key).read()

    def files(self, prefix: str = STATEMENTS) -> dict[str, bytes]:
        keys = self.world.stack.bucket.keys()
        return {key: self.read(key) for key in keys if key.startswith(prefix)}

    def lose(self, key: str) -> None:
        self.world.stack.engine.s3().delete_object(Bucket=self.world.stack.ref("ReportBucket"), Key=key)


def payment(id_: str, amount: str, agency: str = "42") -> Cloud:
    return cloud_event(id_, "payment.recorded", agency, amount=amount, currency="GBP")


def figures(statement: dict[str, Any]) -> dict[str, str]:
    names = ("opening", "sales", "voids", "refunds", "adjustments", "net", "commission", "tax", "payments", "closing")
    return {name: statement[name] for name in names}


@pytest.fixture(scope="module")
def sealed() -> Iterator[Marketplace]:
    """Two months of a marketplace, both released but for what lacks a party."""
    with opened(LONDON, start=EVE) as world:
        shop = Marketplace(world)
        shop.register("8")
        shop.write("/agencies/42", tax(percent="20"))
        shop.write("/agencies/7", tax(scheme="reverse_charge", percent=None, vat_id="DE136695976") | {"country": "DE"})
        rated = {"commission_rate": "0.125"}
        shop.record(
            sale("s1", "100.00", order_id="o1", product='Tea, "green"', **rated),
            sale("s2", "50.10", order_id="o1", product="=cmd|' /C calc'!A0", **rated),
            sale("s3", "0.20", agency="7", **rated),
            sale("s4", "1000", agency="7", currency="JPY", **rated),
            sale("s5", "1.0004", agency="7", currency="BHD", **rated),
            refund("r1", "-30", of=None, agency="8", **rated),
            sale("u1", "5", agency="9", **rated),
            sale("s6", "9", agency="..", **rated),
            sale("s7", "8", agency=LONG, **rated),
            adjustment("a0", "7.77", kind="opening"),
        )
        shop.record(void("v1", of="s2"), refund("r2", "-10.00", of="s1"), payment("p1", "5.00"))
        # After the month in UTC, still in it by its own time; and of November by the marketplace's clock.
        shop.until(datetime(2026, 11, 1, 0, 30, tzinfo=UTC))
        late = sale("s8", "4.00", **rated)
        shop.record({**late, "time": "2026-10-31T23:59:00Z"}, sale("s9", "3.00", **rated))
        shop.until(datetime(2026, 11, 2, 0, 20, tzinfo=UTC))
        shop.watch()
        shop.write(
            "/agencies/42", {**tax(percent="10"), "legal_name": "Harbour Books & Sons", "valid_from": None}, seen=1
        )
        prior = sale("s10", "1.00", **rated)
        shop.record({**prior, "time": "2026-10-15T12:00:00Z"}, payment("p2", "-1.50"))
        shop.until(datetime(2026, 12, 2, 1, tzinfo=UTC))
        shop.watch()
        yield shop


def test_a_statement_has_every_kind_of_line_and_what_is_owed(sealed: Marketplace) -> None:
    found = sealed.statement(OCTOBER, "42")
    assert figures(found) == {
        "opening": "7.77",
        "sales": "154.10",
        "voids": "-50.10",
        "refunds": "-10.00",
        "adjustments": "0",
        "net": "94.00",
        "commission": "11.75",
        "tax": "2.35",
        "payments": "5.00",
        "closing": "16.87",
    }
    assert (found["commission_exact"], found["payable"], found["brought_forward"]) == ("11.75000", "14.10", "7.77")
    assert (found["number"], found["document"], found["issued_on"], found["lines"]) == (
        "S-000001",
        "statement",
        "2026-11-02",
        7,
    )
    assert (found["from"], found["to"]) == ("2026-09-30T23:00:00Z", "2026-11-01T00:00:00Z")
    assert found["customer"]["legal_name"] == FULL["legal_name"]
    assert [day["day"] for day in found["days"]] == ["2026-10-31"]


def test_its_lines_are_the_sealed_ones_in_the_order_of_recording(sealed: Marketplace) -> None:
    lines = sealed.lines(OCTOBER, "42")
    assert sorted(line["id"] for line in lines) == ["a0", "p1", "r2", "s1", "s2", "s8", "v1"]
    assert [line["position"] for line in lines] == sorted(line["position"] for line in lines)
    assert "'=cmd|' /C calc'!A0" in [line["product"] for line in lines]


def test_the_orders_name_what_was_sold_and_each_correction_below_its_sale(sealed: Marketplace) -> None:
    shown = ("order", "kind", "product", "net")
    orders = [tuple(one[name] for name in shown) for one in sealed.statement(OCTOBER, "42")["orders"]]
    tea, formula = 'Tea, "green"', "=cmd|' /C calc'!A0"
    assert orders == [
        ("o1", "sales", formula, "50.10"),
        ("o1", "sales", tea, "100.00"),
        ("o1", "voids", formula, "-50.10"),
        ("o1", "refunds", tea, "-10.00"),
        (None, "sales", None, "4.00"),
    ]


def test_reverse_charge_has_no_tax_and_says_so(sealed: Marketplace) -> None:
    found = sealed.statement(OCTOBER, "7")
    assert (found["tax"], found["commission"]) == ("0.00", "0.02")
    assert "Reverse charge" in found["taxes"][0]["note"]


@pytest.mark.parametrize(("currency", "commission"), [("JPY", "125"), ("BHD", "0.125")])
def test_commission_has_the_digits_of_the_currency(sealed: Marketplace, currency: str, commission: str) -> None:
    assert sealed.statement(OCTOBER, "7", currency)["commission"] == commission


def test_a_negative_total_is_a_credit_note_with_its_own_number(sealed: Marketplace) -> None:
    found = sealed.statement(OCTOBER, "8")
    assert (found["document"], found["number"], found["commission"]) == ("credit_note", "C-000001", "-3.75")


def test_an_agency_that_is_not_registered_keeps_its_draft(sealed: Marketplace) -> None:
    assert sealed.waiting() == dict.fromkeys(["..", "9", LONG], ["agency", "tax"])
    prefix = statement_prefix(OCTOBER, Account("9", "GBP"))
    assert sorted(key.removeprefix(prefix) for key in sealed.files(prefix)) == ["draft.json", "lines.csv.gz"]


@pytest.mark.parametrize("agency", ["..", LONG])
def test_an_agency_of_any_name_has_files_of_its_own(sealed: Marketplace, agency: str) -> None:
    content = sealed.read(statement_prefix(OCTOBER, Account(agency, "GBP")) + "draft.json")
    assert json.loads(content)["agency"] == agency


def test_the_next_statement_continues_the_balance_and_the_numbers(sealed: Marketplace) -> None:
    october, november = sealed.statement(OCTOBER, "42"), sealed.statement(NOVEMBER, "42")
    assert november["opening"] == october["closing"]
    # 10 % of tax from now on: 0.50 of commission, 0.05 of tax, and 1.50 paid to the agency.
    assert figures(november) | {"opening": "", "closing": ""} == {
        "opening": "",
        "sales": "4.00",
        "voids": "0",
        "refunds": "0",
        "adjustments": "0",
        "net": "4.00",
        "commission": "0.50",
        "tax": "0.05",
        "payments": "-1.50",
        "closing": "",
    }
    assert november["closing"] == "18.92"
    assert november["customer"]["legal_name"] == "Harbour Books & Sons"
    assert november["previous"]["number"] == october["number"]


def test_a_late_line_is_on_the_next_statement_as_one_of_a_prior_period(sealed: Marketplace) -> None:
    november = sealed.statement(NOVEMBER, "42")
    assert november["prior_period_lines"] == 1
    assert november["prior_period"]["sales"] == {"lines": 1, "amount": "1.00", "commission": "0.12500"}
    assert [day["day"] for day in november["days"]] == ["2026-11-01", None]


def test_an_account_without_lines_has_no_document_and_takes_no_number(sealed: Marketplace) -> None:
    assert [one["agency"] for one in sealed.drafts(NOVEMBER)] == ["42"]
    assert [(one["period"], one["agency"], one["number"]) for one in sealed.listed(2)] == [
        ("2026-11", "42", "S-000005")
    ]


def test_the_lists_name_every_document_in_the_order_of_the_numbers(sealed: Marketplace) -> None:
    listed = [*sealed.listed(1), *sealed.listed(2)]
    numbers = [one["number"] for one in listed]
    assert [one for one in numbers if one.startswith("S-")] == [f"S-{number:06d}" for number in range(1, 6)]
    assert [one for one in numbers if one.startswith("C-")] == ["C-000001"]
    accounts = [(one["agency"], one["currency"]) for one in sealed.listed(1)]
    assert accounts == sorted(accounts)


def test_the_manifests_are_chained_and_add_up(sealed: Marketplace) -> None:
    october, november = (json.loads(sealed.read(f"statements/{one}/manifest.json")) for one in (OCTOBER, NOVEMBER))
    assert october["previous"] is None
    assert november["previous"]["period"] == "2026-10"
    assert october["lines"] == sum(int(one["lines"]) for one in sealed.drafts(OCTOBER))
    assert october["currencies"]["JPY"]["commission_exact"] == "125.000"
    first, second = (json.loads(sealed.read(f"statements/releases/00000{one}/manifest.json")) for one in (1, 2))
    assert first["previous"] is None
    assert second["previous"]["release"] == 1
    assert first["numbers"] == {"C-": {"first": 1, "next": 2}, "S-": {"first": 1, "next": 5}}
    assert second["numbers"] == {"C-": {"first": 2, "next": 2}, "S-": {"first": 5, "next": 6}}
    assert first["currencies"]["JPY"]["commission"] == "125"


def test_another_run_seals_nothing_and_changes_nothing(sealed: Marketplace) -> None:
    before = sealed.files()
    nothing = {"periods": [], "drafts": 0, "next": "done", "parts": None, "releases": [], "documents": 0}
    assert sealed.seal() == nothing
    assert sealed.watch() is None
    assert sealed.files() == before


def test_a_period_that_cannot_be_sealed_is_refused(sealed: Marketplace) -> None:
    for period, reason in (("2026-12", "open until"), ("2026-11", "sealed already"), ("2026-09", "before 2026-10")):
        with pytest.raises(ConflictError, match=reason):
            sealed.seal({"period": period})
    with pytest.raises(InvalidError):
        sealed.seal({"period": "soon"})


# ---------------------------------------------------------------- bad days


@pytest.fixture
def shop() -> Iterator[Marketplace]:
    """A marketplace on the eve of its first cut-off, with sales of many accounts over two days."""
    with opened(LONDON, start=EVE) as world:
        found = Marketplace(world)
        found.register(*(f"a{number}" for number in range(4)))
        for number in range(12):
            found.record(sale(f"s{number}", f"{number}.10", agency=f"a{number % 5}", commission_rate="0.1"))
            world.clock.advance(timedelta(minutes=5))
        found.until(datetime(2026, 11, 2, 0, 20, tzinfo=UTC))
        yield found


def expected(shop: Marketplace) -> dict[str, bytes]:
    """Return the files of an undisturbed run of an equal marketplace."""
    shop.seal()
    return shop.files()


def test_a_run_that_is_out_of_time_continues(shop: Marketplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "RESERVE_SECONDS", 10_000.0)
    results: list[dict[str, Any]] = []
    while not results or results[-1]["next"] == "run":
        results.append(shop.seal())
    assert len(results) > 4
    assert [one["periods"] for one in results if one["periods"]] == [["2026-10"]]
    assert len(shop.drafts(OCTOBER)) == 5
    assert len(shop.listed(1)) == 4


def test_a_large_period_is_sealed_in_parts_by_the_state_machine(
    shop: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "LINES_OF_A_GROUP", 3)
    monkeypatch.setattr(service, "GROUPS_OF_AN_INVOCATION", 1)
    monkeypatch.setattr(day_lines, "PIECE", 400)
    assert shop.watch() == "2026-10"
    assert shop.seal()["periods"] == []
    assert sum(int(one["lines"]) for one in shop.drafts(OCTOBER)) == 12
    assert [one["number"] for one in shop.listed(1)] == [f"S-{number:06d}" for number in range(1, 5)]
    pieces = [key for key in shop.files(WORK) if "lines-" in key]
    assert len({key.rpartition("-")[0] for key in pieces}) > 2
    assert len({key.rpartition("-")[2] for key in pieces}) > 1


def test_steps_that_come_again_or_late_change_nothing(shop: Marketplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "LINES_OF_A_GROUP", 3)
    monkeypatch.setattr(service, "GROUPS_OF_AN_INVOCATION", 1)
    parts = shop.seal()["parts"]
    steps: list[dict[str, Any]] = [{"collect": {"period": "2026-10", "day": day}} for day in reversed(parts["days"])]
    steps.append({"number": "2026-10"})
    steps += [{"write": {"period": "2026-10", "group": group}} for group in parts["groups"]]
    for step in [*steps, *steps, {"publish": "2026-10"}]:
        shop.seal(step)
    before = shop.files()
    for step in [*steps, {"publish": "2026-10"}]:
        shop.seal(step)
    assert shop.files() == before
    assert shop.seal()["documents"] == 4


@pytest.mark.parametrize("missing", ["work/2026-10/2026-10-31/totals", "work/2026-10/2026-10-31/lines"])
def test_a_part_that_is_missing_stops_the_run(shop: Marketplace, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    """A failed map is reported as succeeded by the emulator: the following steps notice."""
    monkeypatch.setattr(plan, "LINES_OF_A_GROUP", 3)
    monkeypatch.setattr(service, "GROUPS_OF_AN_INVOCATION", 1)
    parts = shop.seal()["parts"]
    for day in parts["days"]:
        shop.seal({"collect": {"period": "2026-10", "day": day}})
    shop.lose(next(key for key in shop.files(WORK) if key.startswith(missing)))
    steps: list[dict[str, Any]] = [{"write": {"period": "2026-10", "group": one}} for one in parts["groups"]]
    refused = 0
    for step in [{"number": "2026-10"}, *steps]:
        try:
            shop.seal(step)
        except SealedFileError:
            refused += 1
    assert refused
    with pytest.raises(SealedFileError):
        shop.seal({"publish": "2026-10"})


def test_the_next_tick_of_the_watch_starts_a_failed_run_again(shop: Marketplace) -> None:
    key = next(key for key in shop.world.stack.bucket.keys() if key.startswith("ledger/"))  # noqa: SIM118 - no dict
    content = shop.read(key)
    shop.lose(key)
    assert shop.watch() == "2026-10"
    assert shop.files() == {}
    bucket = shop.world.stack.ref("ReportBucket")
    shop.world.stack.engine.s3().put_object(Bucket=bucket, Key=key, Body=content, IfNoneMatch="*")
    assert shop.watch() == "2026-10"
    assert len(shop.drafts(OCTOBER)) == 5


def test_an_agency_that_is_registered_during_a_release_does_not_change_it(
    shop: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "RESERVE_SECONDS", 10_000.0)
    while not any("releases/000001/roster" in key for key in shop.files(WORK)):
        assert shop.seal()["next"] == "run"
    shop.world.clock.advance(timedelta(minutes=1))
    shop.write("/agencies/a1", {**tax(percent="5"), "valid_from": "2026-01-01T00:00:00Z"}, seen=1)
    shop.write("/agencies/a4", {**tax(percent="20"), "valid_from": "2026-01-01T00:00:00Z"})
    monkeypatch.undo()
    assert shop.seal()["documents"] == 4
    assert shop.statement(OCTOBER, "a1")["taxes"][0]["percent"] == "20"
    assert list(shop.waiting()) == ["a4"]
