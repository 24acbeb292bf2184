"""The checks of a draft: what keeps it from being released, and what a person should look at first."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from quarterhour.model.periods import Period
from quarterhour.registry.agencies.agency import EXEMPT, REVERSE_CHARGE, STANDARD, Agency, TaxProfile, TaxRate
from quarterhour.registry.owner import Owner
from quarterhour.statements.drafts.draft import DraftItem, DraftState
from quarterhour.statements.drafts.figures import Sum
from quarterhour.statements.releases.checks import DraftContext, Level, checks, failed
from tests.support.cases import cases
from tests.support.drafts import decision, draft_item

OWNER = Owner(legal_name="Market Ltd", address="1 Quay", country="GB", vat_id="GB980780684")
VAT_20 = TaxProfile(STANDARD, Decimal(20))
AGENCY = Agency(datetime(2026, 1, 1, tzinfo=UTC), "Harbour Books Ltd", "2 Quay", "GB", VAT_20)


def always(profile: TaxProfile | None) -> Callable[[date], Agency | None]:
    """Return the agency of each day; the reverse charge is for one in Germany."""
    country = "DE" if profile and REVERSE_CHARGE in profile.schemes else "GB"
    return lambda _: AGENCY._replace(country=country, tax=profile) if profile else None


COMPLETE = DraftContext(OWNER, AGENCY, always(VAT_20))


def found(draft: DraftItem, context: DraftContext = COMPLETE) -> list[tuple[str, str]]:
    return [(one.name, one.message) for one in checks(draft, context)]


def test_a_complete_draft_passes_all_checks() -> None:
    assert found(draft_item()) == []


def test_a_held_draft_says_why_it_is_held() -> None:
    draft = draft_item(state=DraftState.HELD, decisions=[decision(DraftState.HELD, reason="the name is wrong")])
    assert found(draft) == [("held", "it is held: the name is wrong")]


def test_a_draft_of_an_earlier_period_comes_first() -> None:
    after = replace(COMPLETE, earlier=Period(2026, 9))
    assert found(draft_item(), after) == [("order", "the draft of 2026-09 comes first: release it")]


@pytest.mark.parametrize(
    ("owner", "profile", "missing"),
    [
        (Owner(), VAT_20, "legal_name, address, country, vat_id"),
        (Owner(), TaxProfile(EXEMPT), "legal_name, address, country"),
        (OWNER._replace(vat_id=None), VAT_20, "vat_id"),
        (OWNER._replace(vat_id=None), TaxProfile(REVERSE_CHARGE, vat_id="DE136695976"), "vat_id"),
        (OWNER._replace(address=None), VAT_20, "address"),
    ],
)
def test_an_owner_without_what_an_invoice_needs_is_named(owner: Owner, profile: TaxProfile, missing: str) -> None:
    context = replace(COMPLETE, owner=owner, agency_on=always(profile), agency=AGENCY._replace(tax=profile))
    assert found(draft_item(), context) == [
        ("owner", f"the owner lacks {missing}: write them with `quarterhour owner`")
    ]


def test_an_owner_without_a_vat_id_may_issue_statements_that_are_not_taxed() -> None:
    exempt = TaxProfile(EXEMPT)
    context = DraftContext(OWNER._replace(vat_id=None), AGENCY._replace(tax=exempt), always(exempt))
    assert found(draft_item(), context) == []


def test_an_agency_that_is_not_registered_at_the_end_of_the_period_is_named() -> None:
    message = "the agency is not registered at the end of 2026-10: register it"
    assert found(draft_item(), replace(COMPLETE, agency=None)) == [("agency", message)]


@pytest.mark.parametrize(
    ("agency", "missing"),
    [
        (AGENCY._replace(legal_name=None), "legal_name"),
        (AGENCY._replace(address=None, country=None), "address, country"),
    ],
)
def test_an_agency_without_what_an_invoice_needs_is_named(agency: Agency, missing: str) -> None:
    message = f"the agency lacks {missing}: register them"
    assert found(draft_item(), replace(COMPLETE, agency=agency)) == [("agency", message)]


def test_what_counts_before_the_first_period_is_a_warning_with_its_sums() -> None:
    left_out = Sum(2, Decimal("90.00"), Decimal("9.0"))
    draft = replace(draft_item(), before_first_period=left_out)
    assert DraftItem.of(draft.as_item()) == draft
    message = "2 lines before the first period, on no statement: net 90.00, commission 9.0"
    assert found(draft, COMPLETE) == [("before_first_period", message)]


def test_the_reverse_charge_needs_the_agency_s_vat_id() -> None:
    """S2: reverse charge without a VAT number or an address."""
    reverse = TaxProfile(REVERSE_CHARGE)
    context = DraftContext(OWNER, AGENCY._replace(tax=reverse, address=None), always(reverse))
    message = "the agency lacks address, tax.vat_id, which the reverse charge needs: register them"
    assert found(draft_item(), context) == [("agency", message)]
    known = reverse._replace(vat_id="DE136695976")
    assert found(draft_item(), DraftContext(OWNER, AGENCY._replace(tax=known), always(known))) == []


@pytest.mark.parametrize(
    "named", [{"by_kind": {"fee": TaxRate(REVERSE_CHARGE)}}, {"by_category": {"books": TaxRate(REVERSE_CHARGE)}}]
)
def test_the_reverse_charge_of_a_kind_or_a_category_needs_the_agency_s_vat_id(named: dict[str, Any]) -> None:
    """The default scheme is standard, and exempt; the item of a draft does not hold which lines it has."""
    for default in (VAT_20, TaxProfile(EXEMPT)):
        profile = default._replace(**named)
        context = DraftContext(OWNER._replace(country="JE"), AGENCY._replace(tax=profile), always(profile))
        message = "the agency lacks tax.vat_id, which the reverse charge needs: register them"
        assert found(draft_item(), context) == [("agency", message)]
        known = profile._replace(vat_id="DE136695976")
        assert (
            found(draft_item(), DraftContext(OWNER._replace(country="JE"), AGENCY._replace(tax=known), always(known)))
            == []
        )


def test_an_owner_needs_a_vat_id_if_one_category_is_taxed() -> None:
    profile = TaxProfile(EXEMPT, by_category={"books": TaxRate(STANDARD, Decimal(5))})
    context = DraftContext(OWNER._replace(vat_id=None), AGENCY._replace(tax=profile), always(profile))
    assert found(draft_item(), context) == [("owner", "the owner lacks vat_id: write them with `quarterhour owner`")]


def test_the_first_day_without_a_tax_profile_is_named() -> None:
    days = [("2026-10-05", "2026-10-07"), ("2026-10-20", "2026-10-20")]

    def until(day: str) -> DraftContext:
        last = date.fromisoformat(day)
        return replace(COMPLETE, agency_on=lambda at: AGENCY if at <= last else None)

    def message(day: str) -> tuple[str, str]:
        return "tax", f"the agency has no tax profile on {day}: register one valid from then on"

    assert found(draft_item(days=days), until("2026-10-05")) == [message("2026-10-06")]
    assert found(draft_item(days=days), until("2026-10-06")) == [message("2026-10-07")], "the last day of a span counts"
    assert found(draft_item(days=days), until("2026-10-07")) == [message("2026-10-20")]
    assert found(draft_item(days=days), until("2026-10-20")) == []


def test_a_draft_without_tax_points_is_taxed_on_the_last_day_of_its_period() -> None:
    from_end = replace(COMPLETE, agency_on=lambda at: AGENCY if at == date(2026, 10, 31) else None)
    assert found(draft_item(days=()), from_end) == []
    before = replace(COMPLETE, agency_on=lambda at: AGENCY if at < date(2026, 10, 31) else None)
    assert [name for name, _ in found(draft_item(days=()), before)] == ["tax"]


# ---------------------------------------------------------------- warnings


@pytest.mark.parametrize(
    ("draft", "context", "expected"),
    [
        (
            draft_item(by_default=3),
            COMPLETE,
            ("default_rate", "the draft has 3 lines at the default commission rate, as no rate card applies"),
        ),
        (
            replace(draft_item(), lacking_lines=2),
            COMPLETE,
            ("amount_parts", "2 lines without the tax or shipping that a charge leaves out: charged on more"),
        ),
        (
            draft_item(),
            replace(COMPLETE, before=Decimal("4.10")),
            ("change", "the commission is 12.50, and was 4.10 in the period before"),
        ),
        (draft_item(), replace(COMPLETE, disputes=2), ("disputes", "the agency has 2 disputed lines")),
        (draft_item(), replace(COMPLETE, disputes=1), ("disputes", "the agency has 1 disputed line")),
        (draft_item(), replace(COMPLETE, held=4), ("held_events", "the agency has 4 held events")),
    ],
    ids=["default rate", "parts of the amount", "change", "disputes", "dispute", "held events"],
)
def test_a_warning_does_not_keep_a_draft_from_being_released(
    draft: DraftItem, context: DraftContext, expected: tuple[str, str]
) -> None:
    assert found(draft, context) == [expected]
    assert [one.level for one in checks(draft, context)] == [Level.WARNING]
    assert failed(draft, context) == []


@cases(
    ("before", "now", "is_sudden"),
    [
        ("10", "30", False),
        ("10", "30.01", True),
        ("30", "10", False),
        ("30.01", "10", True),
        ("-10", "-30", False),
        ("-10", "-31", True),
        ("10", "-10", True),
        ("0", "0.00", False),
        ("0", "0.01", True),
        ("0.01", "0", True),
    ],
)
def test_a_commission_that_is_more_than_three_times_the_one_before_or_of_another_sign_is_a_change(
    before: str, now: str, *, is_sudden: bool
) -> None:
    names = [one.name for one in checks(draft_item(commission=now), replace(COMPLETE, before=Decimal(before)))]
    assert names == (["change"] if is_sudden else [])


def test_failed_checks_come_before_warnings() -> None:
    context = replace(COMPLETE, agency=None, disputes=1, earlier=Period(2026, 9))
    assert [one.name for one in checks(draft_item(by_default=1), context)] == [
        *("order", "agency", "default_rate", "disputes"),
    ]
    assert [one.name for one in failed(draft_item(by_default=1), context)] == ["order", "agency"]


def test_a_name_of_blanks_is_none() -> None:
    context = DraftContext(OWNER._replace(legal_name="  "), AGENCY._replace(legal_name="  "), always(VAT_20))
    assert found(draft_item(), context) == [
        ("owner", "the owner lacks legal_name: write them with `quarterhour owner`"),
        ("agency", "the agency lacks legal_name: register them"),
    ]
