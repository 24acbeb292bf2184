"""Every status that the API returns has its colour and its words in one place of the console."""

import re
from enum import Enum

import pytest

from quarterhour.ledger.recording.held_event import HeldReason
from quarterhour.registry.agencies.registration import Registration
from quarterhour.reports.plan import Proof
from quarterhour.statements.drafts.draft import DraftState
from quarterhour.statements.queries import PeriodState
from quarterhour.statements.receivables.plan import PaymentStatus
from quarterhour.statements.releases.checks import Level
from quarterhour.statements.status.plan import DisputeStatus, Status
from tests.support.console_modules import NEEDS_NODE, STATIC, evaluated

pytestmark = NEEDS_NODE


@pytest.mark.parametrize(
    "kind",
    [Status, DisputeStatus, PaymentStatus, DraftState, Level, HeldReason, PeriodState, Registration, Proof],
)
def test_a_status_has_a_colour_and_words(kind: type[Enum]) -> None:
    statuses = [str(one.value) for one in kind]
    found = evaluated("lib/status.js", f"{statuses}.map((one) => [module.colourOf(one), module.statusWords(one)])")
    for status, (colour, words) in zip(statuses, found, strict=True):
        assert colour in {"good", "warn", "bad", "plain"}, status
        assert "_" not in words


def test_no_page_draws_a_status_of_its_own() -> None:
    drawn = {path.name for path in STATIC.rglob("*.js") if re.search('["`]tag ', path.read_text("utf-8"))}
    assert drawn == {"parts.js"}
