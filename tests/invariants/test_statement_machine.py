"""Months in any order of events: each line is on exactly one draft, and the released documents add up.

Sealed reports are made directly, and the runs of drafts and releases use the product's own code on them. A longer
profile: ``pytest tests/invariants/test_statement_machine.py --hypothesis-profile=long``.
"""

import csv
import gzip
import io
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from quarterhour.model.clock import iso_exact, iso_millis
from quarterhour.model.errors import ConflictError
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Calendar, Period, time_zone
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.proof.verify import verify
from quarterhour.registry.agencies.agency import EXEMPT, REVERSE_CHARGE, STANDARD, TaxProfile
from quarterhour.registry.settings.settings import RELEASES
from quarterhour.statements import plan
from quarterhour.statements.drafts import day_lines, service
from quarterhour.statements.drafts.draft import DraftItem
from quarterhour.statements.keys import STATEMENTS, statement_prefix
from quarterhour.statements.plan import StatementSettings
from quarterhour.statements.releases.keys import release_list_key
from quarterhour.statements.releases.requests import Desired, DraftRequest
from quarterhour_tools.emulator.faults import Killed
from tests.invariants.remainders import Roundings
from tests.support.sealing import line, opening, seal
from tests.support.statements_in_memory import StatementRuns

if TYPE_CHECKING:
    from quarterhour.ledger.postings.segments import PostingValues

START = datetime(2026, 10, 20, 12, tzinfo=UTC)
FIRST = Period(2026, 10)
ZONES = ("UTC", "Europe/London", "Pacific/Kiritimati", "America/Los_Angeles")
ACCOUNTS = ("42#GBP", "42#JPY", "7#GBP", "ünï 7/..#BHD")
AGENCIES = ("42", "7", "ünï 7/..")
PROFILES = (
    None,
    TaxProfile(STANDARD, Decimal("19.5")),
    TaxProfile(STANDARD, Decimal(7)),
    TaxProfile(REVERSE_CHARGE, vat_id="DE136695976"),
    TaxProfile(EXEMPT),
)
KINDS = {
    "sale": {"type": "sale.recorded"},
    "refund": {"type": "sale.refunded"},
    "void": {"type": "sale.voided", "reason": "sold twice", "refers_to": "x"},
    "void of a refund": {"type": "sale.voided", "reason": "returned", "terms": "refund"},
    "payment": {"type": "payment.recorded"},
    "opening": {"type": "adjustment.recorded", "kind": "opening"},
    "adjustment": {"type": "adjustment.recorded"},
    "view": {"type": "view.recorded"},
}
AMOUNTS = st.sampled_from(["0.005", "10.00", "12.345", "99999999.99", "1"])
LONG = settings.get_current_profile_name() == "long"
pytestmark = [pytest.mark.slow, *([pytest.mark.timeout(7200)] if LONG else [])]


class Months(RuleBasedStateMachine):
    """A marketplace over some months, with its settings, its reports and its statements."""

    @initialize(
        zone=st.sampled_from(ZONES),
        days=st.integers(0, 10),
        groups=st.sampled_from([1, 3, 25_000]),
        profile=st.sampled_from(PROFILES),
    )
    def deploy(self, zone: str, days: int, groups: int, profile: TaxProfile | None) -> None:
        """``groups``: the lines of a group of accounts; few lines make many groups. ``profile``: of all agencies."""
        self.patched = pytest.MonkeyPatch()
        self.patched.setattr(plan, "LINES_OF_A_GROUP", groups)
        self.patched.setattr(service, "GROUPS_OF_AN_INVOCATION", 1_000)
        self.patched.setattr(day_lines, "PIECE", 600)
        self.now = START
        self.objects = _Mortal()
        self.previous = ("", "")
        self.waiting: list[PostingValues] = []
        self.number = 0
        self.statements = StatementRuns(
            self.objects, self._settings(zone, days), dict.fromkeys(AGENCIES, profile) if profile else {}
        )
        self.sealed: dict[str, bytes] = {}

    def teardown(self) -> None:
        if hasattr(self, "patched"):
            self._go_on(timedelta(days=75))
            self._state()
            self.check()
            self.patched.undo()

    # ------------------------------------------------------------ what happens

    @rule(
        account=st.sampled_from(ACCOUNTS),
        kind=st.sampled_from(sorted(KINDS)),
        amount=AMOUNTS,
        negative=st.booleans(),
        before=st.none() | st.integers(0, 90),
    )
    def record(self, account: str, kind: str, amount: str, *, negative: bool, before: int | None) -> None:
        """Record an event of some days before."""
        self.now += timedelta(seconds=7)
        at = None if before is None else self.now - timedelta(days=before)
        period, prior = self.statements.settings.calendar.period_of(at, self.now)
        signed = f"-{amount}" if negative else amount
        charged = kind not in {"payment", "view"}
        commission = str(Decimal(signed) * Decimal("0.125")) if charged else "0"
        facts = {
            "recorded_at": iso_millis(self.now),
            "period": str(period),
            "tax_point": self.statements.settings.calendar.day_of(at or self.now).isoformat(),
            "commission": commission,
            "commission_rate": "0.125" if charged else "0",
            **({"time": iso_exact(at)} if at else {}),
            **({"prior_period": "prior period"} if prior else {}),
            **KINDS[kind],
        }
        if kind in {"opening", "adjustment"}:
            facts["arithmetic"] = f"named={commission}"
        if kind in {"refund", "void of a refund"}:
            facts["refers_to"] = f"e{self.number}"  # perhaps a sale, or a refund of one
        self.number += 1
        net = "0" if kind in {"opening", "view"} else signed
        self.waiting.append(line(self.now, f"e{self.number}", net, account, **facts))

    @rule(hours=st.sampled_from([1, 6, 24, 24 * 5, 24 * 12, 24 * 20]))
    def time_passes(self, hours: int) -> None:
        self._go_on(timedelta(hours=hours))

    @rule(zone=st.sampled_from(ZONES), days=st.integers(0, 40), release=st.sampled_from(RELEASES))
    def the_settings_change(self, zone: str, days: int, release: str) -> None:
        self.statements.settings = replace(self._settings(zone, days), release=release)

    @rule(account=st.sampled_from(ACCOUNTS), amount=AMOUNTS)
    def a_month_with_a_sale_ends(self, account: str, amount: str) -> None:
        self.record(account, "sale", amount, negative=False, before=None)
        self._go_on(timedelta(days=42))
        self._state()

    @rule(number=st.integers(0, 100), desired=st.sampled_from([Desired.RELEASE, Desired.HOLD]))
    def finance_decides(self, number: int, desired: Desired) -> None:
        """Release or hold a draft, if it allows it."""
        self._decide([one for one in self.statements.drafts if not one.number], number, desired)

    @precondition(lambda self: any(one.number for one in self.statements.drafts))
    @rule(number=st.integers(0, 100), at_once=st.booleans())
    def finance_cancels(self, number: int, *, at_once: bool) -> None:
        """Cancel a statement, before or beside what is released next."""
        self._decide([one for one in self.statements.drafts if one.number], number, Desired.CANCEL)
        if at_once:
            self._state()

    def _decide(self, drafts: list[DraftItem], number: int, desired: Desired) -> None:
        if drafts:
            draft = drafts[number % len(drafts)]
            with suppress(ConflictError):
                self.statements.decide(draft, DraftRequest(desired, "checked", len(draft.decisions)), self.now)

    @rule()
    def finance_releases_all(self) -> None:
        for draft in self.statements.drafts:
            with suppress(ConflictError):
                request = DraftRequest(Desired.RELEASE, "", len(draft.decisions))
                self.statements.decide(draft, request, self.now)
        self._state()

    @rule(agency=st.sampled_from(AGENCIES), profile=st.sampled_from(PROFILES))
    def an_agency_is_registered(self, agency: str, profile: TaxProfile | None) -> None:
        self.now += timedelta(seconds=1)  # no run knows two registrations of one instant
        known = {name: one for name, one in self.statements.profiles.items() if name != agency}
        self.statements.profiles = {**known, **({agency: profile} if profile else {})}

    @rule()
    def the_watch_ticks(self) -> None:
        self._state()

    @rule(after=st.integers(0, 40))
    def a_run_dies(self, after: int) -> None:
        """The run dies after so many objects are created; the profiles stay until the next one completes it."""
        if not self.previous[0]:
            return
        self.objects.left = after
        with suppress(Killed):
            self._state()
        self.objects.left = None
        self._state()

    # ------------------------------------------------------------ how

    def _settings(self, zone: str, days: int) -> StatementSettings:
        return StatementSettings(Calendar(time_zone(zone), days, FIRST), zone, "1.0")

    def _go_on(self, span: timedelta) -> None:
        """Let time pass, and seal what was recorded: a run a day with events, and one of the last quarter-hour."""
        self.now += span
        days: defaultdict[str, list[PostingValues]] = defaultdict(list)
        for item in self.waiting:
            days[item["quarter_hour"][:8]].append(item)
        self.waiting.clear()
        for items in (days[day] for day in sorted(days)):
            quarter_hours = sorted(item["quarter_hour"][:12] for item in items)
            self.previous = seal(self.objects, quarter_hours[0], quarter_hours[-1], items, self.previous)
        last = str(QuarterHour.at(self.now).previous)
        self.previous = seal(self.objects, last, last, [], self.previous)
        self.now = QuarterHour.at(self.now).end

    def _state(self) -> None:
        if not self.previous[0]:
            return
        self.statements.run(self.now)
        changed = [key for key, content in self.sealed.items() if self.objects.get(key) != content]
        assert not changed, "a sealed file has changed"
        self.sealed = {key: content for key, content in self.objects.items() if key.startswith(STATEMENTS)}

    # ------------------------------------------------------------ what holds

    def check(self) -> None:
        """Check invariants 6 and 7 by plain reading, and by the product's own proof."""
        self._check_drafts()
        self._check_documents()
        found = verify(opening(self.objects), self.objects).problems
        assert [one for one in found if one.startswith(STATEMENTS)] == []

    def _check_drafts(self) -> None:
        """Check that each sealed line is on exactly one draft, and that its figures are those of its lines."""
        sealed = self.statements.progress.sealed
        last = str(sealed) if sealed else ""
        expected = Counter(
            row["position"]
            for key, content in self.objects.items()
            if key.startswith("ledger/")
            for row in rows(content)
            if str(FIRST) <= row["period"] <= last
        )
        on: Counter[str] = Counter()
        for draft in self.statements.drafts:
            lines = list(rows(self.objects[statement_prefix(draft.period, draft.account) + "lines.csv.gz"]))
            on.update(row["position"] for row in lines)
            charged = [row for row in lines if row["type"] != "payment.recorded" and row["kind"] != "opening"]
            exact = sum(Decimal(row["commission"]) for row in charged)
            assert draft.listed.figures["commission_exact"] == exact
            assert draft.listed.lines == len(lines) > 0
        assert on == expected

    def _check_documents(self) -> None:
        """Check that openings continue closings in the order of the releases, and that no number is left out.

        What an account owes in the end is the sum of its drafts that have a statement, less all payments. Those are on
        the first document of a draft.
        """
        closing: dict[tuple[str, str], Decimal] = {}
        roundings: defaultdict[tuple[str, str], Roundings] = defaultdict(Roundings)
        owed: dict[tuple[str, str, str], Decimal] = {}
        paid: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
        periods: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
        numbers: defaultdict[str, list[str]] = defaultdict(list)
        for release in range(1, self.statements.store.progress().last + 1):
            listed = csv.DictReader(io.StringIO(self.objects[release_list_key(release)].decode(), newline=""))
            for row in listed:
                account = row["agency"], row["currency"]
                folder = statement_prefix(Period.parse(row["period"]), Account(*account), int(row["revision"]))
                statement = json.loads(self.objects[folder + "statement.json"])
                figures = {name: Decimal(statement[name]) for name in AMOUNT_NAMES}
                assert figures["opening"] == closing.get(account, 0) + figures["brought_forward"]
                payable = figures["commission"] + figures["tax"]
                assert figures["closing"] == figures["opening"] + payable - figures["proceeds"] - figures["payments"]
                lines = statement_prefix(Period.parse(row["period"]), Account(*account)) + "lines.csv.gz"
                roundings[account].check(statement, rows(self.objects[lines]))
                assert figures["payments"] == 0 or row["revision"] == "1"
                paid[account] += figures["payments"]
                closing[account] = figures["closing"]
                numbers[row["number"][0]].append(row["number"])
                of = (*account, row["period"])
                whole = figures["brought_forward"] + payable - figures["proceeds"]
                if row["cancels"]:
                    assert whole == -owed.pop(of)
                    assert statement["cancels"]["number"] == row["cancels"]
                else:
                    assert of not in owed
                    owed[of] = whole
                    periods[account] += [row["period"]] if row["revision"] == "1" else []
        for account, balance in closing.items():
            assert balance == sum(amount for of, amount in owed.items() if of[:2] == account) - paid[account]
            assert periods[account] == sorted(set(periods[account])), "a later period was released first"
        for first, own in numbers.items():
            assert own == [f"{first}-{number:06d}" for number in range(1, len(own) + 1)]


AMOUNT_NAMES = (
    *("opening", "brought_forward", "commission_exact", "commission", "tax", "proceeds", "payments", "closing"),
)


class _Mortal(dict[str, bytes]):
    """Objects; if ``left`` is set, their writer dies once it has created so many."""

    left: int | None = None

    def __setitem__(self, key: str, content: bytes) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Killed
            self.left -= 1
        super().__setitem__(key, content)


def rows(content: bytes) -> Iterator[dict[str, str]]:
    return csv.DictReader(io.StringIO(gzip.decompress(content).decode(), newline=""))


TestMonths = Months.TestCase
TestMonths.settings = settings.get_profile("long" if LONG else "bounded")
