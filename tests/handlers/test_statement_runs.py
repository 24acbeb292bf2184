"""Drafts and statements: what each account owes for a month, from the first sale to the sealed files."""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import pytest

from quarterhour.model.errors import ConflictError, InvalidError, SealedFileError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.statements import plan
from quarterhour.statements.drafts import day_lines, service
from quarterhour.statements.keys import STATEMENTS, WORK, statement_prefix
from tests.support.agencies import ANYWHERE, FULL, OWNER, tax
from tests.support.events import Cloud, adjustment, cloud_event, refund, sale, void
from tests.support.requests import events_request
from tests.support.statement_plans import unpacked
from tests.support.system import World, opened

OCTOBER, NOVEMBER = Period(2026, 10), Period(2026, 11)
EVE = datetime(2026, 10, 31, 22, tzinfo=UTC)
LONDON: dict[str, str | int] = {"time_zone": "Europe/London", "grace_days": 1, "first_period": "2026-10"}
LONG = "字" * 200
EXEMPT: dict[str, Any] = {"scheme": "exempt", "percent": None, "vat_id": None}
NOTHING = {"periods": [], "drafts": 0, "next": "done", "parts": None, "releases": [], "documents": 0}
"""The response of a run that has nothing to do."""


@dataclass(frozen=True, slots=True)
class Marketplace:
    """The system, with what a marketplace does."""

    world: World

    def record(self, *events: Cloud) -> None:
        answer = self.world.stack.request(events_request(list(events)))
        assert [one["verdict"] for one in answer.json()["items"]] == ["recorded"] * len(events), answer.json()

    def write(self, path: str, content: dict[str, Any], seen: int = 0) -> None:
        self.world.write(path, content, seen)

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

    def listed(self, period: Period) -> list[dict[str, str]]:
        """Return the released documents of a period, in the order of the releases."""
        lists = [key for key in self.files("statements/releases/") if key.endswith(".csv")]
        return [row for key in lists for row in self._rows(key) if row["period"] == str(period)]

    def drafts(self, period: Period) -> list[dict[str, str]]:
        """Return the drafts of a period, as its list has them."""
        return self._rows(f"statements/{period}/drafts.csv")

    def _rows(self, key: str) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.read(key).decode(), newline="")))

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
    """Two months of a marketplace, with the drafts of both and the statements of all agencies that are registered."""
    with opened(LONDON, start=EVE) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", ANYWHERE)
        shop.write("/agencies/42", tax(percent="20"))
        shop.write("/agencies/7", tax(scheme="reverse_charge", percent=None, vat_id="DE136695976") | {"country": "DE"})
        for agency in ("8", "..", LONG):
            shop.write(f"/agencies/{quote(agency, safe='').replace('.', '%2E')}", tax(**EXEMPT))
        rated = {"commission_rate": "0.125"}
        shop.record(
            sale("s1", "100.00", order_id="o1", product='Tea, "green"', **rated),
            sale("s2", "50.10", order_id="o1", product="=cmd|' /C calc'!A0", **rated),
            sale("s3", "0.20", agency="7", **rated),
            sale("s4", "1000", agency="7", currency="JPY", **rated),
            sale("s5", "1.0004", agency="7", currency="BHD", **rated),
            refund("r1", "-30", of=None, agency="8", **rated),
            sale("s6", "9", agency="..", **rated),
            sale("s7", "8", agency=LONG, **rated),
            sale("n1", "6", agency="nobody", **rated),
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
    assert (found["number"], found["document"], found["lines"]) == ("S-000002", "statement", 7)
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


def test_a_refund_that_was_taken_back_is_none_of_the_refunds_of_the_month() -> None:
    with opened(LONDON, start=EVE) as world:
        place = Marketplace(world)
        place.write("/documents/owner", OWNER)
        place.write("/agencies/42", tax(percent="20"))
        place.record(sale("s", "100.00", order_id="o1"), refund("r1", "-30.00", "s"), refund("r2", "-20.00", "s"))
        place.record(void("b1", "r1"))
        place.until(datetime(2026, 11, 2, 0, 20, tzinfo=UTC))
        place.watch()
        place.record(void("b2", "r2"), refund("r3", "-100.00", "s"))
        place.until(datetime(2026, 12, 2, 1, tzinfo=UTC))
        place.watch()
        october, november = (place.statement(period, "42") for period in (OCTOBER, NOVEMBER))
    assert [(one["by_kind"]["refunds"]["lines"], one["net"]) for one in (october, november)] == [
        (3, "80.00"),
        (2, "-80.00"),
    ]
    assert [one["by_kind"]["voids"]["lines"] for one in (october, november)] == [0, 0]
    assert [(one["order"], one["sale"], one["kind"], one["net"]) for one in october["orders"]] == [
        ("o1", None, "sales", "100.00"),
        ("o1", None, "refunds", "-20.00"),
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


def test_without_a_registration_a_draft_waits_and_says_why(sealed: Marketplace) -> None:
    found = sealed.world.read("/drafts/nobody/GBP/2026-10")
    assert (found["state"], found["commission_exact"], found["number"]) == ("open", "0.750", None)
    assert [(one["check"], one["message"]) for one in found["checks"]] == [
        ("agency", "the agency is not registered at the end of 2026-10: register it"),
        ("tax", "the agency has no tax profile on 2026-10-31: register one valid from then on"),
    ]
    assert "nobody" not in {row["agency"] for row in sealed.listed(OCTOBER)}


@pytest.mark.parametrize("agency", ["..", LONG])
def test_an_agency_of_any_name_has_files_of_its_own(sealed: Marketplace, agency: str) -> None:
    assert sealed.statement(OCTOBER, agency)["agency"] == agency


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


def test_an_idle_account_has_no_draft_and_no_statement_and_keeps_its_balance(sealed: Marketplace) -> None:
    assert [row["agency"] for row in sealed.drafts(NOVEMBER)] == ["42"]
    assert [row["agency"] for row in sealed.listed(NOVEMBER)] == ["42"]
    assert sealed.world.read("/accounts/7/GBP/balance")["balance"] == "0.02"


def test_the_list_of_drafts_has_the_exact_figures_of_every_account(sealed: Marketplace) -> None:
    listed = sealed.drafts(OCTOBER)
    accounts = [(one["agency"].removeprefix("'"), one["currency"]) for one in listed]
    assert accounts == sorted(accounts)
    assert [one["commission_exact"] for one in listed if one["agency"] == "nobody"] == ["0.750"]
    (of_42,) = (one for one in listed if one["agency"] == "42")
    names = ("brought_forward", "net", "commission_exact", "payments", "lines", "prior_period_lines")
    assert [of_42[name] for name in names] == ["7.77", "94.00", "11.75000", "5.00", "7", "0"]


def test_a_release_names_every_statement_in_the_order_of_the_numbers(sealed: Marketplace) -> None:
    listed = [*sealed.listed(OCTOBER), *sealed.listed(NOVEMBER)]
    for prefix in ("S-", "C-"):
        numbers = [one["number"] for one in listed if one["number"].startswith(prefix)]
        assert numbers == [f"{prefix}{number:06d}" for number in range(1, len(numbers) + 1)]
    accounts = [(one["agency"].removeprefix("'"), one["currency"]) for one in sealed.listed(OCTOBER)]
    assert accounts == sorted(accounts)
    assert {(one["revision"], one["cancels"]) for one in listed} == {("1", "")}


def test_the_manifests_of_the_periods_are_chained_and_add_up(sealed: Marketplace) -> None:
    october, november = (json.loads(sealed.read(f"statements/{one}/manifest.json")) for one in (OCTOBER, NOVEMBER))
    assert october["previous"] is None
    digest = sha256(sealed.read(f"statements/{OCTOBER}/manifest.json")).hexdigest()
    assert november["previous"] == {"period": "2026-10", "sha256": digest}
    assert (october["drafts"], october["lines"]) == (8, sum(int(one["lines"]) for one in sealed.drafts(OCTOBER)))
    assert october["currencies"]["JPY"]["commission_exact"] == "125.000"
    assert "numbers" not in october


def test_the_manifests_of_the_releases_are_chained_and_add_up(sealed: Marketplace) -> None:
    first, second = (json.loads(sealed.read(f"statements/releases/00000{one}/manifest.json")) for one in (1, 2))
    assert first["previous"] is None
    digest = sha256(sealed.read("statements/releases/000001/manifest.json")).hexdigest()
    assert second["previous"] == {"release": 1, "sha256": digest}
    assert first["prefixes"] == {"statements": "S-", "credit_notes": "C-"}
    assert first["numbers"] == {"C-": {"first": 1, "next": 2}, "S-": {"first": 1, "next": 7}}
    assert second["numbers"] == {"C-": {"first": 2, "next": 2}, "S-": {"first": 7, "next": 8}}
    assert (first["statements"], first["credit_notes"], second["statements"]) == (6, 1, 1)
    assert first["lines"] == sum(int(one["lines"]) for one in sealed.listed(OCTOBER))
    assert first["currencies"]["JPY"]["commission"] == "125"


def test_another_run_seals_nothing_and_changes_nothing(sealed: Marketplace) -> None:
    before = sealed.files()
    assert sealed.seal() == NOTHING
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
        found.write("/documents/owner", OWNER)
        for agency in range(5):
            found.write(f"/agencies/a{agency}", tax(**EXEMPT))
        for number in range(12):
            found.record(sale(f"s{number}", f"{number}.10", agency=f"a{number % 5}", commission_rate="0.1"))
            world.clock.advance(timedelta(minutes=5))
        found.until(datetime(2026, 11, 2, 0, 20, tzinfo=UTC))
        yield found


def test_a_run_that_is_out_of_time_continues(shop: Marketplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "RESERVE_SECONDS", 10_000.0)
    results: list[dict[str, Any]] = []
    while not results or results[-1]["next"] == "run":
        results.append(shop.seal())
    assert len(results) > 6
    assert [one["periods"] for one in results if one["periods"]] == [["2026-10"]]
    assert [one["releases"] for one in results if one.get("releases")] == [[1]]
    assert (results[-1]["documents"], results[-1]["next"]) == (5, "done")
    assert len(shop.listed(OCTOBER)) == 5


def test_a_large_period_is_sealed_in_parts_by_the_state_machine(
    shop: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "LINES_OF_A_GROUP", 3)
    monkeypatch.setattr(service, "GROUPS_OF_AN_INVOCATION", 1)
    monkeypatch.setattr(day_lines, "PIECE", 400)
    assert shop.watch() == "2026-10"
    assert shop.seal()["periods"] == []
    assert sum(int(one["lines"]) for one in shop.listed(OCTOBER)) == 12
    assert [one["number"] for one in shop.listed(OCTOBER)] == [f"S-{number:06d}" for number in range(1, 6)]
    pieces = [key for key in shop.files(WORK) if "lines-" in key]
    assert len({key.rpartition("-")[0] for key in pieces}) > 2
    assert len({key.rpartition("-")[2] for key in pieces}) > 1


def test_steps_that_come_again_or_late_change_nothing(shop: Marketplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "LINES_OF_A_GROUP", 3)
    monkeypatch.setattr(service, "GROUPS_OF_AN_INVOCATION", 1)
    parts = shop.seal()["parts"]
    steps: list[dict[str, Any]] = [{"collect": {"period": "2026-10", "day": day}} for day in reversed(parts["days"])]
    steps.append({"add_up": "2026-10"})
    steps += [{"write": {"period": "2026-10", "group": group}} for group in parts["groups"]]
    for step in [*steps, *steps, {"publish": "2026-10"}]:
        shop.seal(step)
    before = shop.files()
    for step in [*steps, {"publish": "2026-10"}, {}]:
        shop.seal(step)
    assert {key: content for key, content in shop.files().items() if key in before} == before
    assert len(shop.listed(OCTOBER)) == 5


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
    for step in [{"add_up": "2026-10"}, *steps]:
        try:
            shop.seal(step)
        except SealedFileError:
            refused += 1
    assert refused
    with pytest.raises(SealedFileError):
        shop.seal({"publish": "2026-10"})


def test_an_agency_that_is_registered_later_for_before_does_not_change_a_release(
    shop: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "RESERVE_SECONDS", 10_000.0)
    while not shop.files("work/releases/"):
        assert shop.seal()["next"] == "run"
    shop.world.clock.advance(timedelta(minutes=1))
    renamed = {**tax(percent="20"), "legal_name": "Renamed Ltd", "valid_from": "2026-01-01T00:00:00Z"}
    shop.write("/agencies/a1", renamed, seen=1)
    monkeypatch.undo()
    shop.seal()
    found = shop.statement(OCTOBER, "a1")
    assert (found["customer"]["legal_name"], found["tax"]) == (FULL["legal_name"], "0.00")
