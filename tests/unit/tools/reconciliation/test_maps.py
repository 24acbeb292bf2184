"""The maps of providers' reports that come with the tools, on the published layouts."""

from decimal import Decimal
from pathlib import Path

import pytest

from quarterhour.file_formats.csv.errors import CellError, MapError
from quarterhour.file_formats.csv.map import load_provider_map
from quarterhour.file_formats.csv.seen import seen_rows
from quarterhour.file_formats.csv.table import BadRow, read_table
from quarterhour.model.periods import Period, time_zone
from quarterhour_tools.csv.file import open_text
from quarterhour_tools.reconciliation.lines import ProviderLine
from quarterhour_tools.reconciliation.maps import map_text, shipped
from quarterhour_tools.reconciliation.provider_file import MapInUse, Place, ProviderFile, agency_by
from tests.support.cases import cases
from tests.support.repository import ROOT

EXPORTS = ROOT / "tests" / "support" / "exports"
FILES = {
    "adyen": "adyen.csv",
    "amazon": "amazon.txt",
    "amazon_comma": "amazon_comma.txt",
    "paypal": "paypal.csv",
    "shopify": "shopify.csv",
    "stripe": "stripe_with_charges.csv",
    "stripe_payouts": "stripe_payouts.csv",
}


def lines_of(name: str, file: Path) -> tuple[list[ProviderLine], list[BadRow], int]:
    csv_map = load_provider_map(map_text(name), name)
    assert csv_map.provider
    place = Place(Period.parse("2026-10"), time_zone("UTC"))
    with open_text(str(file), csv_map.file.encoding) as text, seen_rows() as seen:
        table = read_table(text.lines(), csv_map.file, csv_map.used_by)
        rows = ProviderFile(
            table,
            MapInUse(csv_map, csv_map.provider, dict.fromkeys(csv_map.settings, "7")),
            place,
            agency_by(None, None),
            seen,
        )
        found = list(rows.lines())
    bad = [one for one in found if isinstance(one, BadRow)]
    return (
        [one for one in found if isinstance(one, ProviderLine)],
        bad,
        sum(one.rows for one in rows.summary.excluded.values()),
    )


def shown(line: ProviderLine) -> tuple[str, str, str, str, str, str | None]:
    amount, fee = ("" if one is None else str(one) for one in (line.amount, line.fee))
    return line.kind, line.group, amount, fee, line.period, line.sale


EXPECTED = {
    "adyen": [
        ("sale", '["sale", "order-1"]', "50.00", "1.20", "2026-10", None),
        ("refund", '["refund", "order-2"]', "-12.50", "0", "2026-11", '["sale", "order-2"]'),
        ("refund", '["refund", "order-3"]', "-349.99", "7.5", "2026-10", '["sale", "order-3"]'),
        ("adjustment", '["adjustment", "order-3"]', "349.99", "0", "2026-10", '["sale", "order-3"]'),
        ("refund", '["refund", "order-3"]', "-349.99", "0", "2026-10", '["sale", "order-3"]'),
        ("refund", '["refund", "order-4"]', "-8.00", "0", "2026-10", '["sale", "order-4"]'),
        ("adjustment", '["adjustment", "order-4"]', "8.00", "0", "2026-10", '["sale", "order-4"]'),
        ("sale", '["sale", "order-5"]', "1200", "9.60", "2026-10", None),
        ("payout", '["payout", "HarbourEU:4"]', "-36.30", "", "2026-10", None),
    ],
    "amazon": [
        ("sale", '["sale", "77", "206-1"]', "30.00", "", "2026-10", None),
        ("sale", '["sale", "77", "206-1"]', "", "4.50", "2026-10", None),
        ("sale", '["sale", "77", "206-1"]', "", "2.10", "2026-10", None),
        ("refund", '["refund", "77", "206-1"]', "-3.00", "", "2026-10", '["sale", "77", "206-1"]'),
        ("sale", '["sale", "79", "206-2"]', "1012.00", "", "2026-10", None),
        ("sale", '["sale", "79", "206-2"]', "1012.00", "", "2026-10", None),
        ("refund", '["refund", "78", "206-0"]', "-9.40", "", "2026-10", '["sale", "78", "206-0"]'),
        ("refund", '["refund", "78", "206-0"]', "", "-1.41", "2026-10", '["sale", "78", "206-0"]'),
        ("refund", '["refund", "78", "206-0"]', "", "0.28", "2026-10", '["sale", "78", "206-0"]'),
        ("adjustment", '["adjustment", "78", "206-0"]', "1.00", "", "2026-10", '["sale", "78", "206-0"]'),
        ("refund", '["refund", "80", "206-3"]', "-25.00", "", "2026-10", '["sale", "80", "206-3"]'),
        ("refund", '["refund", "80", "206-3"]', "", "-3.75", "2026-10", '["sale", "80", "206-3"]'),
        ("refund", '["refund", "81", "206-4"]', "-14.00", "", "2026-10", '["sale", "81", "206-4"]'),
        ("adjustment", '["adjustment", "81", "206-4"]', "14.00", "", "2026-10", '["sale", "81", "206-4"]'),
    ],
    "paypal": [
        ("sale", '["sale", "order-1"]', "1250.00", "43.90", "2026-10", None),
        ("refund", '["refund", "order-1"]', "-20.00", "-0.58", "2026-11", '["sale", "order-1"]'),
        ("payout", '["payout", "WD-1"]', "-900.00", "0.00", "2026-10", None),
    ],
    "shopify": [  # a map of events: each event is a line
        ("sale", '["sale", "1001"]', "56.29", "", "2026-10", None),
        ("sale", '["sale", "1002"]', "1234.50", "", "2026-10", None),
        ("refund", '["refund", "1001"]', "-6.29", "", "2026-10", '["sale", "1001"]'),
    ],
    "stripe": [
        ("sale", '["sale", "ch_1"]', "120.00", "2.05", "2026-10", None),
        ("refund", '["refund", "re_1"]', "-20.00", "0.00", "2026-10", '["sale", "ch_1"]'),
        ("adjustment", '["adjustment", "du_1"]', "100.00", "-15.00", "2026-10", '["sale", "ch_1"]'),
    ],
    "stripe_payouts": [("payout", '["payout", "po_1"]', "-97.95", "0.00", "2026-10", None)],
}
EXPECTED["amazon_comma"] = EXPECTED["amazon"]


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_shipped_map_reads_the_published_layout(name: str) -> None:
    lines, bad, others = lines_of(name, EXPORTS / FILES[name])
    assert not bad
    assert [shown(line) for line in lines] == EXPECTED[name]
    assert others > 0 or name == "stripe_payouts"


def test_the_fee_of_a_settlement_in_another_currency_keeps_its_currency() -> None:
    lines, _, _ = lines_of("adyen", EXPORTS / "adyen.csv")
    assert (lines[0].currency, lines[0].fee_currency, lines[0].agency) == ("GBP", "GBP", "HarbourEU")
    assert lines[0].fee == Decimal("1.20")


def test_the_lines_of_a_map_of_events_are_its_events() -> None:
    lines, _, _ = lines_of("shopify", EXPORTS / "shopify.csv")
    assert [line.agency for line in lines] == ["7", "7", "7"]
    assert lines[2].name == "1001:refund:2026-10-05 09:00:00 -0400:-6.29:7001:1"
    assert {"shopify", "stripe_payouts"} <= set(shipped())


VIEW = """
[[event]]
id = "{a}"
source = "web"
type = "view.recorded"
subject = "{b}"
data = { customer = "{c}" }
"""


@cases(("name", "message"), [("web", r"event\[1\].data.amount: is missing"), ("a#b", "provider: is 'a#b', the name")])
def test_a_map_of_events_that_gives_no_lines_is_refused(name: str, message: str) -> None:
    with pytest.raises(MapError, match=message):
        load_provider_map(VIEW, name)


START = 'provider = "p"\n[[provider_line]]\nkind = "sale"\nname = "{a}"\ncurrency = "EUR"\n'


@cases(
    ("text", "message"),
    [
        ('provider = "p"', "provider_line: at least one"),
        ("[[provider_line]]", "provider: is missing"),
        (f'{START}match = {{ order_id = "{{a}}" }}', r"provider_line\[1\].amount: is missing"),
        (f'{START}amount = "{{b}}"', r"provider_line\[1\].match: must name a field"),
        (f'{START}amount = "{{b}}"\nmatch = {{ order = "{{a}}" }}', r"match.order: is no field to match"),
        (START.replace("sale", "sold"), r"provider_line\[1\].kind: must be one of sale, refund"),
        *(
            (f'fee_field = "{field}"\n{START}', "fee_field: must be commission, charges.NAME or extra.NAME")
            for field in ("x", "charges", "charges.", "charges.a=b")
        ),
        (START.replace('"p"', '"a#b"'), "provider: must be"),
        (
            (
                f'{START}amount = "{{b}}"\nmatch = {{ order_id = "{{a}}" }}\n'
                f'{START.partition(chr(10))[2]}amount = "{{b}}"\nmatch = {{ id = "{{a}}" }}'
            ),
            r"provider_line\[2\].match: must have the fields of the other sale: order_id",
        ),
        (
            f'{START}amount = "{{b}}"\nmatch = {{ order_id = "{{a}}" }}\nsale = {{ id = "{{a}}" }}',
            r"provider_line\[1\].sale: must have the fields by which sales match: order_id",
        ),
    ],
)
def test_a_wrong_map_is_refused_with_its_entry(text: str, message: str) -> None:
    with pytest.raises(MapError, match=message):
        load_provider_map(text)


def test_an_agency_that_no_agency_can_be_named_is_refused() -> None:
    with pytest.raises(CellError, match="the agency is 'a#b'"):
        agency_by(None, None)("a#b")
