"""Postings: the ledger item of an event, and reading it back."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from quarterhour.ledger.postings.posting import Posting
from quarterhour.ledger.recording.plan import ledger_values
from quarterhour.ledger.recording.pricing import CommissionTerms
from quarterhour.model import clock
from quarterhour.model.identifiers import Identity, Position
from quarterhour.model.periods import Period
from tests.support.builders import AT, claim, event, instants, utc


def test_a_ledger_item_holds_the_whole_event_as_text() -> None:
    sold = event(
        amount="-12.50", type_="adjustment.recorded", currency="JPY", product="tea", extra={"a": Decimal("1.0")}
    )
    assert ledger_values(sold, claim(sold)) == {
        "quarter_hour": "202610230130#00",
        "position": str(Position.of(Identity("shop", "order-1").hash, AT).at(0)),
        "recorded_at": "2026-10-23T01:30:12.345Z",
        "source": "shop",
        "id": "order-1",
        "type": "adjustment.recorded",
        "agency": "42",
        "currency": "JPY",
        "amount": "-12.50",
        "commission_rate": "0.10",
        "commission": "-1.2500",
        "product": "tea",
        "extra": '{"a":1.0}',
        "terms": "default",
        "period": "2026-10",
        "tax_point": "2026-10-23",
    }


def test_a_ledger_item_has_the_events_own_time_in_utc() -> None:
    sold = replace(event(), time=utc("01:30:00.5"))
    assert ledger_values(sold, claim(sold))["time"] == "2026-10-23T01:30:00.500000Z"


@given(at=instants, retried=instants, amount=st.decimals(0, 10**9, places=4))
def test_the_same_claim_always_gives_the_same_ledger_item(at: datetime, retried: datetime, amount: Decimal) -> None:
    first, again = event(amount=amount), event(amount=amount)
    claimed = claim(first, at)
    with clock.using(clock.ManualClock(retried)):
        assert ledger_values(again, claimed) == ledger_values(first, claimed)


@given(digits=st.integers(0, 10**20), exponent=st.integers(-5, 15), rate=st.sampled_from(["0.10", "1", "0E+5"]))
def test_a_retry_with_numbers_in_another_notation_gives_the_same_ledger_item(
    digits: int, exponent: int, rate: str
) -> None:
    number = Decimal(digits).scaleb(exponent)
    as_number = event(amount=number, commission_rate=Decimal(rate))
    as_text = event(amount=f"{number:f}", commission_rate=f"{Decimal(rate):f}")
    claimed = claim(as_number)
    assert claimed.is_of(as_text)
    assert ledger_values(as_text, claimed) == ledger_values(as_number, claimed)
    assert claim(as_text) == claimed


def test_a_ledger_item_is_read_back_as_a_posting_with_the_same_values() -> None:
    sold = event(amount="12.50", customer="c7")
    claimed = claim(sold)
    assert Posting.of(ledger_values(sold, claimed)) == Posting(
        claimed.partition, sold.account, Decimal("12.50"), Decimal("1.2500"), AT, "c7", Period(2026, 10)
    )


def test_an_old_claim_without_an_origin_gives_the_ledger_item_of_its_time() -> None:
    old = claim()._replace(terms=CommissionTerms(Decimal("0.10"), ""))
    assert ledger_values(event(), old).keys() == ledger_values(event(), claim()).keys() - {"terms"}
