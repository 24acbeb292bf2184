"""Statements over HTTP: periods, lists, a statement with its files, previews, and balances."""

import gzip
import json
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from itertools import count
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from quarterhour.reports.digests import hexdigest
from quarterhour.statements.previews.queries import PreviewQueries
from tests.support.agencies import tax
from tests.support.events import sale
from tests.support.requests import post
from tests.support.stored_statements import (
    document,
    end_of_october,
    keep_sealed,
    plan_of,
    register,
    seal_statements,
)
from tests.support.system import World

OCTOBER = "/statements/42/GBP/2026-10"
NOVEMBER = "/statements/42/GBP/2026-11"
BALANCE = "/accounts/42/GBP/balance"


def record(world: World, type_: str, id_: str, amount: str, **data: Any) -> None:
    answer = post(world, sale(id_, amount, type_, **data))
    assert [one["verdict"] for one in answer.json()["items"]] == ["recorded"], answer.body


@pytest.fixture(scope="module")
def sealed() -> Iterator[World]:
    """The system with October sealed for two agencies, and sales of November; nothing changes it.

    Agency 44 is not registered, so its draft waits.
    """
    with end_of_october() as world:
        register(world, "42", scheme="standard", percent="20")
        register(world, "43")
        world.sell("100.05")
        world.sell("-0.02")
        record(world, "payment.recorded", "p1", "5")
        world.sell("1000", agency="43", currency="JPY")
        world.sell("4.00", agency="44")
        seal_statements(world)
        world.sell("10.00")
        record(world, "payment.recorded", "p2", "2.50")
        world.pass_time(minutes=20)
        world.sell("1.00")
        world.drain()
        yield world


def test_a_statement_has_its_figures_its_status_and_links_to_its_files(sealed: World) -> None:
    found = sealed.read(OCTOBER)
    figures = {"opening": "0", "sales": "100.05", "refunds": "-0.02", "net": "100.03", "payments": "5"}
    money = {"commission_exact": "12.50375", "commission": "12.50", "tax": "2.50", "closing": "10.00"}
    assert found.items() >= {**figures, **money}.items()
    assert (found["number"], found["document"], found["lines"]) == ("S-000001", "statement", 3)
    assert (found["preview"], found["status"], found["changes"], found["history"]) == (False, "issued", 0, [])
    keys = [file["key"].rpartition("/")[2] for file in found["files"]]
    assert keys == ["statement.json", "statement.html", "statement.xml", "lines.csv.gz"]
    for file in found["files"]:
        assert unquote(urlsplit(file["url"]).path).endswith(file["key"])
    content = sealed.stack.bucket.open(found["files"][0]["key"]).read()
    assert json.loads(content)["closing"] == found["closing"]
    assert gzip.decompress(sealed.stack.bucket.open(found["files"][3]["key"]).read()).count(b"\n") == 4


def test_a_statement_with_complete_parties_has_a_link_to_its_electronic_invoice() -> None:
    with end_of_october() as world:
        register(world, "42", scheme="standard", percent="20")
        world.sell("100.00")
        seal_statements(world)
        (file,) = [one for one in world.read(OCTOBER)["files"] if one["key"].endswith("/42/GBP/statement.xml")]
        stored = world.stack.engine.s3().get_object(Bucket=world.stack.ref("ReportBucket"), Key=file["key"])
        content = stored["Body"].read()
    assert stored["ContentType"] == "application/xml"
    assert (hexdigest(content), len(content)) == (file["sha256"], file["size"])
    assert b">15.00</cbc:PayableAmount>" in content


def test_an_open_period_has_a_preview_that_carries_the_balance_on_and_is_not_stored(sealed: World) -> None:
    found = sealed.read(NOVEMBER)
    assert (found["preview"], found["state"], found["as_of"]) == (True, "open", "2026-11-01T00:50:00.000Z")
    assert found.items() >= {"opening": "10.00", "gross": "11.00", "refunds": "0", "net": "11.00"}.items()
    assert found.items() >= {"commission_exact": "1.37500", "commission": "1.38", "tax": "0.28"}.items()
    assert found.items() >= {"payable": "1.66", "payments": "2.50", "closing": "9.16", "lines": 3}.items()
    assert found["taxes"] == [
        {
            "scheme": "standard", "percent": "20", "country": "GB", "vat_id": "GB980780684",
            "reason": None, "reason_code": None, "note": "VAT 20 %", "base": "1.38", "tax": "0.28",
            "tax_points": [{"from": "2026-11-01", "to": "2026-11-01"}],
            "charges": [{"name": "commission", "exact": "1.375", "amount": "1.38"}],
        }
    ]  # fmt: skip
    assert [one["period"] for one in sealed.read("/statements", agency="42")["items"]] == ["2026-10"]


def test_periods_are_listed_from_the_open_one_back(sealed: World) -> None:
    november, october = sealed.read("/periods")["items"]
    assert november == {
        "period": "2026-11", "state": "open", "from": "2026-11-01T00:00:00Z", "to": "2026-12-01T00:00:00Z",
        "cut_off": "2026-12-01T00:00:00Z", "time_zone": "UTC",
    }  # fmt: skip
    assert (october["state"], october["recorded_until"]) == ("sealed", "2026-11-01T00:15:00Z")
    assert (october["drafts"], october["lines"]) == (3, 5)
    assert october["currencies"]["GBP"]["commission_exact"] == "13.00375"
    assert sealed.all("/periods", limit=1) == [november, october]


def test_statements_are_listed_by_period_and_by_agency(sealed: World) -> None:
    def names(**query: Any) -> list[str]:
        return [one["agency"] for one in sealed.all("/statements", limit=1, **query)]

    assert names() == names(period="2026-10") == ["42", "43"]
    assert names(agency="43") == names(agency="43", period="2026-10") == ["43"]
    assert names(period="2026-11") == names(agency="44") == names(agency="42", period="2026-09") == []
    assert (names(status="issued"), names(status="accepted")) == (["42", "43"], [])


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/statements/42/GBP/2026-12", "2026-12 has not begun"),
        ("/statements/42/GBP/2026-09", "they begin with 2026-10"),
        ("/statements/45/GBP/2026-10", "there is no account"),
        ("/statements/42/EUR/2026-10", "there is no account"),
    ],
)
def test_a_statement_that_is_not_there_says_why(sealed: World, path: str, reason: str) -> None:
    assert reason in sealed.missing(path)


def test_an_account_that_began_after_a_sealed_period_has_no_statement_of_it() -> None:
    with end_of_october() as world:
        world.sell("1.00", agency="43")
        seal_statements(world)
        world.sell("1.00")
        world.drain()
        assert "the account has no statement of 2026-10" in world.missing(OCTOBER)
        assert world.read(NOVEMBER)["opening"] == "0"
        assert world.read(BALANCE)["statement"] is None


# ---------------------------------------------------------------- previews of several periods


def test_a_closed_period_is_previewed_and_passes_its_balance_on() -> None:
    with end_of_october() as world:
        world.sell("10.00")
        world.pass_time(hours=1)
        world.sell("20.00")
        world.drain()
        assert [one["state"] for one in world.read("/periods")["items"]] == ["open", "closed"]
        october, november = world.read(OCTOBER), world.read(NOVEMBER)
        assert (october["state"], october["closing"], november["opening"]) == ("closed", "1.25", "1.25")
        assert (november["commission"], november["closing"]) == ("2.50", "3.75")


def test_a_run_under_way_shows_in_the_state_of_its_period() -> None:
    with end_of_october() as world:
        world.sell("10.00")
        world.pass_time(hours=1)
        plan = plan_of(bound="202611010000")
        keep_sealed(world, plan_of("2026-09"), document())
        progress = {"pk": {"S": "CONTROL"}, "sk": {"S": "statements"}}
        from quarterhour.aws.items import to_item  # noqa: PLC0415 - the only test that writes a plan

        world.stack.dynamodb.update_item(
            TableName=world.stack.ref("EntityTable"),
            Key=progress,
            UpdateExpression="SET #plan = :plan",
            ExpressionAttributeNames={"#plan": "plan"},
            ExpressionAttributeValues=to_item({":plan": plan.as_dict()}),
        )
        states = [(one["period"], one["state"]) for one in world.read("/periods")["items"]]
        assert states == [("2026-11", "open"), ("2026-10", "running"), ("2026-09", "sealed")]


def test_before_the_first_period_there_are_no_statements_and_no_open_periods() -> None:
    with end_of_october({"first_period": "2026-12"}) as world:
        world.sell("10.00")
        world.drain()
        assert world.read("/periods")["items"] == []
        assert "they begin with 2026-12" in world.missing(OCTOBER)
        assert world.read(BALANCE)["balance"] == "0"


# ---------------------------------------------------------------- balances


def test_a_balance_is_the_closing_balance_and_what_is_not_billed(sealed: World) -> None:
    assert sealed.read(BALANCE) == {
        "agency": "42",
        "currency": "GBP",
        "as_of": "2026-11-01T00:50:00.000Z",
        "balance": "9.16", "collects": "agency",
        "statement": {
            "period": "2026-10", "number": "S-000001", "closing": "10.00", "recorded_until": "2026-11-01T00:15:00Z"
        },
        "unbilled": {"commission": "1.38", "tax": "0.28", "proceeds": "0.00", "payments": "2.50"},
    }  # fmt: skip


def test_a_balance_is_the_closing_balance_of_the_preview_tax_included() -> None:
    """A commission of 100.00 at 21 %: both are 121.00, and 181.48 with another month and a payment."""
    with end_of_october() as world:
        register(world, "42", scheme="standard", percent="21")
        record(world, "sale.recorded", "s1", "1000", commission_rate="0.1")
        world.drain()
        preview, balance = world.read(OCTOBER), world.read(BALANCE)
        assert (preview["closing"], balance["balance"]) == ("121.00", "121.00")
        assert balance["unbilled"] == {"commission": "100.00", "tax": "21.00", "proceeds": "0.00", "payments": "0"}
        world.pass_time(hours=1)
        record(world, "sale.recorded", "s2", "500.05", commission_rate="0.1")
        record(world, "payment.recorded", "p1", "0.02")
        world.drain()
        assert [one["state"] for one in world.read("/periods")["items"]] == ["open", "closed"]
        preview, balance = world.read(NOVEMBER), world.read(BALANCE)
        assert (preview["closing"], balance["balance"]) == ("181.48", "181.48")  # 121.00 + 50.00 + 10.50 - 0.02
        seal_statements(world)
        preview, balance = world.read(NOVEMBER), world.read(BALANCE)
        assert (preview["closing"], balance["balance"]) == ("181.48", "181.48")
        assert balance["statement"]["closing"] == "121.00"


def test_a_balance_at_the_end_of_a_month_is_taxed_by_the_profile_of_its_last_day() -> None:
    """21 % until October, exempt from November on: 121.00 at midnight, before October has a statement."""
    with end_of_october() as world:
        register(world, "42", scheme="standard", percent="21")
        exempt = tax(scheme="exempt", percent=None, vat_id=None)
        world.write("/agencies/42", {**exempt, "valid_from": "2026-11-01T00:00:00Z"}, seen=1)
        record(world, "sale.recorded", "s1", "1000", commission_rate="0.1")
        world.pass_time(hours=1)
        assert world.read(BALANCE, at="2026-11-01T00:00:00Z")["balance"] == "121.00"
        assert world.read(BALANCE)["balance"] == world.read(NOVEMBER)["closing"] == "121.00"


@pytest.mark.parametrize(
    ("at", "balance", "statement"),
    [
        ("2026-10-31T23:30:00Z", "0", None),
        ("2026-10-31T23:50:00Z", "10.00", None),  # 12.50 + 2.50 - 5
        ("2026-11-01T00:29:59Z", "10.00", None),
        ("2026-11-01T00:30:00Z", "10.00", "S-000001"),  # released
        ("2026-11-01T00:44:59Z", "10.00", "S-000001"),  # the quarter-hour that began at 00:30
        ("2026-11-01T00:45:00Z", "9.00", "S-000001"),  # 10.00 + 1.25 + 0.25 - 2.50
        ("2030-01-01T00:00:00Z", "9.16", "S-000001"),
    ],
)
def test_a_balance_as_of_an_instant_counts_what_was_recorded_by_then(
    sealed: World, at: str, balance: str, statement: str | None
) -> None:
    found = sealed.read(BALANCE, at=at)
    assert Decimal(found["balance"]) == Decimal(balance)
    assert (found["statement"] or {}).get("number") == statement


def test_the_balance_at_a_release_is_the_closing_balance_and_the_lines_of_later_periods_that_came_before() -> None:
    with end_of_october({"grace_days": 1}) as world:
        register(world, "42")
        record(world, "sale.recorded", "october", "100.03", commission_rate="0.1")
        world.pass_time(hours=2)
        record(world, "sale.recorded", "november", "10", commission_rate="0.1")
        late = sale("late", "1", commission_rate="0.1") | {"time": "2026-10-31T12:00:00Z"}
        assert post(world, late).status == 202
        world.pass_time(hours=23)
        seal_statements(world)
        found = world.read(OCTOBER)
        assert (found["closing"], found["lines"]) == ("10.10", 2)
        balance = world.read(BALANCE)
        unbilled = Decimal(balance["unbilled"]["commission"])
        assert unbilled == Decimal(1)
        assert Decimal(balance["balance"]) == Decimal(found["closing"]) + 1


def test_a_past_balance_stays_the_same_while_events_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    with end_of_october() as world:
        world.sell("10.00")
        world.pass_time(hours=1)
        plain, reads = PreviewQueries._counted, count()

        def counted(*arguments: Any) -> Any:
            """Count one more event after the periods are read, and before the days are."""
            found = plain(*arguments)
            if next(reads) < 2:
                world.sell("100.00")
                world.drain()
            return found

        monkeypatch.setattr(PreviewQueries, "_counted", counted)
        assert world.read(BALANCE, at="2026-11-01T00:00:00Z")["balance"] == "1.25"
        assert next(reads) == 3, "read again until nothing was counted meanwhile"


def test_sales_of_before_the_first_period_are_in_no_balance() -> None:
    with end_of_october({"first_period": "2026-10"}) as world:
        old = {**sale("old", "500", commission_rate="0.1"), "time": "2026-08-01T00:00:00Z"}
        assert post(world, old).status == 202
        world.sell("10.00")
        world.pass_time(minutes=30)
        assert post(world, {**old, "id": "older"}).status == 202
        world.sell("2.00")
        world.drain()
        assert Decimal(world.read(BALANCE)["balance"]) == Decimal("1.5")
        assert Decimal(world.read(BALANCE, at="2026-11-01T00:00:00Z")["balance"]) == Decimal("1.25")
        assert world.read(OCTOBER)["closing"] == "1.25"


def test_a_balance_whose_counters_are_gone_says_which_instants_remain() -> None:
    with end_of_october() as world:
        world.sell("10.00")
        world.pass_time(days=37)
        world.sell("10.00")
        world.drain()
        answer = world.get(BALANCE, at="2026-10-31T23:45:00Z")
        assert (answer.status, answer.json()["title"]) == (410, "Gone")
        assert "2026-11-02T23:30:00Z" in answer.json()["detail"]
        assert world.read(BALANCE, at="2026-11-01T00:00:00Z")["balance"] == "1.25"
        world.clock.advance(timedelta(days=800))
        assert world.get(BALANCE, at="2026-11-01T00:00:00Z").status == 410
        assert world.read(BALANCE)["balance"] == "2.50"
