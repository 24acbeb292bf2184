"""A made-up year of a marketplace in Germany with every kind of agency: registrations, rates and what happens.

It is data alone, and uses nothing of the product: the test records it, and `plain_figures` computes with it.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

OWNER = {
    "legal_name": "Isarmarkt GmbH",
    "address": "Am Gasteig 1\n81667 München",
    "country": "DE",
    "vat_id": "DE136695976",
    "iban": "DE89370400440532013000",
    "contact": "billing@isarmarkt.example",
    "payment_days": 14,
}
SETTINGS = {
    "base_currency": "EUR",
    "rounding": "half-up",
    "time_zone": "Europe/Berlin",
    "first_period": "2026-01",
    "grace_days": 3,
}
YEAR = 2026
DEFAULT_RATES = (("2026-01-01", "10"), ("2026-05-16", "12.5"))
"""From which day on the rate card of all agencies charges which percentage."""
GROUP_CHARGES = {"commission": ("8", "0"), "payment fee": ("1.1", "0.25")}
"""The charges of the group's rate card: percentage and fixed part."""
GROUP = "isar"
EXCHANGE_RATES = {"CHF": "0.93", "GBP": "0.86"}
"""Units for one euro, all year."""


def iban(country: str, rest: str) -> str:
    """Return an IBAN with its check digits."""
    digits = "".join(str(int(one, 36)) for one in f"{rest}{country}00")
    return f"{country}{98 - int(digits) % 97:02d}{rest}"


def german(number: int) -> str:
    """Return the IBAN of a made-up account in Germany."""
    return iban("DE", f"370400440532{number:06d}")


def standard(percent: str = "19", vat_id: str | None = None, **more: Any) -> dict[str, Any]:
    """Return a tax profile with VAT."""
    return {"scheme": "standard", "percent": percent, **({"vat_id": vat_id} if vat_id else {}), **more}


def reverse(vat_id: str) -> dict[str, Any]:
    """Return a tax profile of a business in another member state."""
    return {"scheme": "reverse_charge", "vat_id": vat_id}


def agency(name: str, country: str = "DE", *, town: str = "10115 Berlin", **more: Any) -> dict[str, Any]:
    """Return a registration."""
    return {"legal_name": name, "address": f"Weg 1\n{town}", "country": country, "currency": "EUR", **more}


MARKETPLACE = {"collects": "marketplace"}
OUTSIDE = {"scheme": "outside_scope"}
EXEMPT = {"scheme": "exempt", "reason": "§ 4 Nr. 8 UStG", "reason_code": "VATEX-EU-135-1"}
FEE_OUTSIDE: Mapping[str, Any] = {"by_kind": {"chargeback_fee": {"scheme": "outside_scope"}}}

AGENCIES: Mapping[str, tuple[tuple[str, dict[str, Any]], ...]] = {
    "101": (("", agency("Anker GmbH", tax=standard(vat_id="DE999900016"))),),
    "102": (("", agency("Boje GmbH", tax=standard(vat_id="DE999900024"), iban=german(102), **MARKETPLACE)),),
    "103": (("", agency("Clara Klein (Kleinunternehmerin)", tax=standard())),),
    "104": (("", agency("Dupont SARL", "FR", town="75010 Paris", tax=reverse("FR42000000010"), language="fr")),),
    "105": (
        (
            "",
            agency(
                *("Eiland B.V.", "NL"),
                town="1012 JS Amsterdam",
                tax=reverse("NL000000012B01"),
                iban=iban("NL", "ABNA0417164301"),
                **MARKETPLACE,
            ),
        ),
    ),
    "106": (("", agency("Fonds Verwaltung AG", tax=EXEMPT, language="de")),),
    "107": (("", agency("Gipfel AG", "CH", town="8001 Zürich", tax=OUTSIDE)),),
    "108": (("", agency("Harbour Ltd", "GB", tax=OUTSIDE, iban=iban("GB", "WEST12345698765433"), **MARKETPLACE)),),
    "109": (("", agency("Isar Nord GmbH", tax=standard(vat_id="DE999900032"), group=GROUP)),),
    "110": (
        ("", agency("Isar Süd GmbH", tax=standard(vat_id="DE999900049"), group=GROUP, iban=german(110), **MARKETPLACE)),
    ),
    "111": (
        ("", agency("Jonas Mover", tax=standard(vat_id="DE999900057"))),
        ("2026-09-15", agency("Jonas Mover SARL", "FR", town="69003 Lyon", tax=reverse("FR72000000020"))),
    ),
    "112": (
        ("", agency("Kochbuch Verlag", tax=standard())),
        ("2026-05-10", agency("Kochbuch Verlag", tax=standard("7"))),
    ),
    "113": (
        ("", agency("Lotse KG", tax=standard(vat_id="DE999900065"))),
        ("2026-06-15", agency("Lotse KG", tax=standard(vat_id="DE999900065"), iban=german(113), **MARKETPLACE)),
    ),
    "114": (
        ("", agency("Mole KG", tax=standard(vat_id="DE999900073"), iban=german(114), **MARKETPLACE)),
        ("2026-04-20", agency("Mole KG", tax=standard(vat_id="DE999900073"), iban=german(114))),
    ),
    "115": (
        ("", agency("Norte S.L.", "ES", town="28013 Madrid", tax=reverse("ESB00000018"))),
        ("2026-08-11", agency("Norte S.L.", "ES", town="28013 Madrid", tax=reverse("ESB00000026"))),
    ),
    "116": (
        ("", agency("Olbers GmbH", tax=standard(vat_id="DE999900081", **FEE_OUTSIDE))),
        ("2026-10-12", agency("Olbers GmbH", tax={**EXEMPT, **FEE_OUTSIDE})),
    ),
}
"""The registrations of agencies, each with the day (in Berlin) from which it holds."""
CURRENCIES = {"107": "CHF", "108": "GBP"}
"""The currencies of the agencies that do not sell in euros."""

Body = dict[str, Any]


def currency_of(name: str) -> str:
    """Return the currency in which an agency sells."""
    return CURRENCIES.get(name, "EUR")


def body(id_: str, name: str, type_: str, at: datetime, **data: Any) -> Body:
    """Return an event."""
    return {
        "specversion": "1.0",
        "source": "shop",
        "id": id_,
        "type": type_,
        "subject": name,
        "time": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "data": {"currency": currency_of(name), **data},
    }


class Year:
    """What happens in the months of the year: sales and their corrections, the same ones each time."""

    def __init__(self) -> None:
        self._rng = Random(45)  # noqa: S311 - reproducible, not secret
        self._to_come: dict[int, list[Body]] = {}

    def events(self, month: int) -> tuple[list[Body], list[Body]]:
        """Return the events of a month in their order, and those of it that are sent late, in the next one."""
        found, late = self._to_come.pop(month, []), []
        for name in AGENCIES:
            for number in range(self._rng.randrange(2, 5)):
                found += self._sale(name, month, number)
            if self._rng.random() < 0.3:
                found.append(self._adjustment(name, month))
            if self._rng.random() < 0.25:
                at = self._at(month, 25)
                late.append(body(f"{name}-{month}-late", name, "sale.recorded", at, amount=self._amount()))
        return sorted(found, key=lambda one: str(one["time"])), late

    def _sale(self, name: str, month: int, number: int) -> Iterator[Body]:
        """Yield a sale, and what corrects it in the same month; what corrects it later is kept for its month."""
        at, id_, amount = self._at(month, self._rng.randrange(1, 24)), f"{name}-{month}-{number}", self._amount()
        yield body(id_, name, "sale.recorded", at, amount=amount)
        chance, part = self._rng.random(), f"-{int(amount.replace('.', '')) // 3 / 100:.2f}"
        if chance < 0.12:
            yield body(f"{id_}-R", name, "sale.refunded", at + timedelta(days=2), amount=part, refers_to=id_)
        elif chance < 0.24 and month < 12:
            back = at + timedelta(days=32)
            amount = part if chance < 0.18 else f"-{amount}"
            later = self._to_come.setdefault(back.month, [])
            later.append(body(f"{id_}-R", name, "sale.refunded", back, amount=amount, refers_to=id_))
            if chance < 0.15:
                taken = back + timedelta(hours=5)
                later.append(
                    body(f"{id_}-RV", name, "sale.voided", taken, refers_to=f"{id_}-R", reason="the bank returned it")
                )
        elif chance < 0.28:
            yield body(f"{id_}-V", name, "sale.voided", at + timedelta(days=1), refers_to=id_, reason="twice")

    def _adjustment(self, name: str, month: int) -> Body:
        kind = self._rng.choice(["chargeback_fee", "late_interest", ""])
        more = {"kind": kind} if kind else {}
        amount = self._rng.choice(["15.00", "7.35", "-4.20"])
        at = self._at(month, 20)
        return body(f"{name}-{month}-A", name, "adjustment.recorded", at, amount="0", commission=amount, **more)

    def _at(self, month: int, day: int) -> datetime:
        return datetime(YEAR, month, day, self._rng.randrange(6, 20), self._rng.randrange(60), tzinfo=UTC)

    def _amount(self) -> str:
        return f"{self._rng.randrange(2_000, 90_000) / 100:.2f}"
