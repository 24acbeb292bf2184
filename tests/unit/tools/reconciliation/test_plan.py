"""The pure part of a reconciliation: whatever the lines, the findings explain the whole difference."""

from collections import defaultdict
from collections.abc import Sequence
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.file_formats.csv.provider_map import ProviderMap
from quarterhour.ledger.events.event import ADJUSTMENT, SALE
from quarterhour.model.identifiers import Identity
from quarterhour_tools.reconciliation.lines import (
    RECONCILES,
    LedgerLine,
    ProviderLine,
    Sums,
    group_of,
    ledger_line,
    packed,
    provider_line,
    sums,
)
from quarterhour_tools.reconciliation.plan import Explanation, Finding, Status, UnexplainedError, explain, net
from quarterhour_tools.reconciliation.proposals import propose

PERIOD = "2026-11"
MAP = ProviderMap("pay", "extra.fee", [], {"sale": ("order_id",)})

periods = st.sampled_from(["2026-10", PERIOD, "2026-12"])
currencies = st.sampled_from(["EUR", "GBP"])
agencies = st.sampled_from(["41", "42"])
amounts = st.sampled_from(list(map(Decimal, ("0", "1", "2", "-1", "3.10", "0.00001"))))
fees = st.none() | amounts
groups = st.sampled_from([group_of("sale", [order]) for order in "ab"])
provider_lines = st.builds(
    ProviderLine,
    row=st.integers(2, 9),
    name=st.sampled_from(["n1", "n2", "n3", "n4"]),
    kind=st.just("sale"),
    group=groups,
    amount=st.none() | amounts,
    currency=currencies,
    fee=fees,
    fee_currency=currencies,
    agency=st.none() | agencies,
    time=st.none(),
    period=periods,
)
ledger_lines = st.builds(
    LedgerLine,
    identity=st.builds(Identity, st.sampled_from(["shop", "quarterhour/reconciliation"]), st.text("xyz", min_size=1)),
    type=st.just(SALE),
    group=groups,
    amount=amounts,
    currency=currencies,
    fee=fees,
    agency=agencies,
    period=periods,
    refers_to=st.none(),
    counts=st.just(value=True),
)


def grouped(
    provider: list[ProviderLine], ledger: list[LedgerLine]
) -> dict[str, tuple[list[ProviderLine], list[LedgerLine]]]:
    found: dict[str, tuple[list[ProviderLine], list[LedgerLine]]] = defaultdict(lambda: ([], []))
    for theirs in provider:
        found[theirs.group][0].append(theirs)
    for ours in ledger:
        found[ours.group][1].append(ours)
    return found


@pytest.mark.law
@given(st.lists(provider_lines, max_size=7), st.lists(ledger_lines, max_size=7))
def test_the_sums_of_the_findings_explain_the_whole_difference(
    provider: list[ProviderLine], ledger: list[LedgerLine]
) -> None:
    findings = [one for group in grouped(provider, ledger).values() for one in explain(*group)]

    explanation = Explanation(PERIOD)
    for finding in findings:
        if finding.counts(PERIOD):
            explanation.add(finding)
    explanation.check(sums(provider, PERIOD), sums(ledger, PERIOD))
    assert sorted(map(packed, provider)) == sorted(packed(line) for one in findings for line in one.provider)
    assert sorted(map(packed, ledger)) == sorted(packed(line) for one in findings for line in one.ledger)


@pytest.mark.law
@given(st.lists(provider_lines, max_size=5), st.lists(ledger_lines, max_size=5))
def test_the_proposals_make_the_amounts_agree(provider: list[ProviderLine], ledger: list[LedgerLine]) -> None:
    for lines, known in grouped(provider, ledger).values():
        first = list(explain(lines, known))
        proposed = [(one, propose(one, MAP, lambda _: None).events) for one in first]
        for finding, events in proposed:
            if not events:
                continue
            recorded = [*finding.ledger, *map(as_line, events)]
            agency = finding.provider[0].agency or finding.ledger[0].agency if finding.ledger else events[0]["subject"]
            theirs = [one._replace(agency=one.agency or agency) for one in finding.provider]
            assert by_account(theirs) == by_account(recorded)


def by_account(lines: Sequence[ProviderLine | LedgerLine]) -> dict[tuple[str, str], Decimal]:
    total: dict[tuple[str, str], Decimal] = {}
    for (currency, agency, _), value in net(lines, by_agency=True).items():
        total[agency, currency] = total.get((agency, currency), Decimal(0)) + value
    return {account: value for account, value in total.items() if value}


def as_line(event: dict[str, object]) -> LedgerLine:
    data = event["data"]
    assert isinstance(data, dict)
    return LedgerLine(
        Identity(str(event["source"]), str(event["id"])),
        ADJUSTMENT,
        data["extra"][RECONCILES],
        Decimal(data["amount"]),
        data["currency"],
        None,
        str(event["subject"]),
        PERIOD,
        None,
        counts=True,
    )


@given(provider_lines, ledger_lines)
def test_a_line_that_is_kept_on_disk_comes_back_as_it_was(theirs: ProviderLine, ours: LedgerLine) -> None:
    assert provider_line(packed(theirs)) == theirs
    assert ledger_line(packed(ours)) == ours


def theirs_of(amount: str | None, row: int = 2, **more: str | Decimal | None) -> ProviderLine:
    usual: dict[str, object] = {
        "row": row,
        "name": f"n{row}",
        "kind": "sale",
        "group": group_of("sale", ["a"]),
        "amount": None if amount is None else Decimal(amount),
        "currency": "EUR",
        "fee": None,
        "fee_currency": "EUR",
        "agency": "42",
        "time": None,
        "period": PERIOD,
    }
    return ProviderLine(**usual | more)  # type: ignore[arg-type] # the values of a line


def ours_of(amount: str, id_: str = "e1", **more: str | Decimal | None) -> LedgerLine:
    usual: dict[str, object] = {
        "identity": Identity("shop", id_),
        "type": SALE,
        "group": group_of("sale", ["a"]),
        "amount": Decimal(amount),
        "currency": "EUR",
        "fee": None,
        "agency": "42",
        "period": PERIOD,
        "refers_to": None,
        "counts": True,
    }
    return LedgerLine(**usual | more)  # type: ignore[arg-type] # the values of a line


def labels(provider: list[ProviderLine], ledger: list[LedgerLine]) -> list[str]:
    return sorted(one.label for one in explain(provider, ledger))


def test_one_charge_of_an_order_matches_the_sum_of_its_sales() -> None:
    assert labels([theirs_of("100")], [ours_of("60"), ours_of("40.00", "e2")]) == ["matched"]
    assert labels([theirs_of("100")], [ours_of("60"), ours_of("45", "e2")]) == ["different: amount"]


def test_a_fee_of_its_own_row_belongs_to_the_line_with_the_amount() -> None:
    fee = theirs_of(None, row=3, fee=Decimal("4.50"))
    assert labels([theirs_of("30"), fee], [ours_of("30", fee=Decimal("4.5"))]) == ["matched"]
    assert labels([theirs_of("30"), fee], [ours_of("30", fee=Decimal(4))]) == ["different: fee"]
    assert labels([fee], []) == ["missing here"]


def test_of_two_charges_the_one_without_its_sale_is_missing() -> None:
    charges = [theirs_of("60"), theirs_of("40", row=3)]
    found = {one.label: one for one in explain(charges, [ours_of("40")])}
    assert found["missing here"].provider[0].row == 2
    assert found["matched"].provider[0].row == 3


def test_findings_that_lose_a_line_are_refused() -> None:
    explanation = Explanation(PERIOD)
    explanation.add(Finding(Status.MISSING_HERE, (theirs_of("60"),)))
    with pytest.raises(UnexplainedError, match=r"do not add up to the amount of 61 EUR"):
        explanation.check(Sums({("amount", "EUR"): Decimal(61)}), Sums())
