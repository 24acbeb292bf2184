"""Matches a bank's file to open statements, and makes the events that would record its payments. It writes nothing."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from itertools import chain
from typing import TYPE_CHECKING, Final

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.workers import Workers
from quarterhour.file_formats.bank.line import BadBankRow, BankFileError, BankLine, BankStatement, line_ids
from quarterhour.file_formats.bank.read import read_bank_file
from quarterhour.ledger.events.event import PAYMENT
from quarterhour.ledger.events.people import SOURCE
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.reading.queries import EventLookup
from quarterhour.model import exact_json, money
from quarterhour.model.clock import iso_seconds
from quarterhour.model.errors import MalformedError
from quarterhour.model.identifiers import Identity
from quarterhour.model.periods import start_of
from quarterhour.registry.agencies.agency import Agency, read_agency
from quarterhour.registry.documents.keys import agency_document, latest_key
from quarterhour.statements.receivables.matching import (
    LineOutcome,
    Match,
    OpenStatement,
    PaidPart,
    Payer,
    ProposedPayment,
    propose,
)
from quarterhour.statements.receivables.queries import ReceivableQueries
from quarterhour.web.bodies import refusal

if TYPE_CHECKING:
    from quarterhour.statements.receivables import api

REASON: Final = "bank file"
"""The reason of the events."""
_MOST_PARTS: Final = 100
"""The most payments of a line that are looked up."""


@dataclass(frozen=True, slots=True)
class BankFiles:
    """Reads files of a bank, and proposes the payments in them that are not recorded yet."""

    receivables: ReceivableQueries
    entities: EntityReader
    events: EventLookup
    workers: Workers
    zone: tzinfo

    def proposed(
        self, content: bytes, format_: str | None, remaining_seconds: Callable[[], float]
    ) -> "api.MatchedFile":
        """Return the lines of a file, what each would pay and why, and the events that would record it.

        Raises ``MalformedError`` if the file cannot be read, and ``UnavailableError`` if there is not enough time.
        """
        try:
            file = read_bank_file(content, format_)
        except BankFileError as error:
            raise refusal(MalformedError, error.problem, error.expected) from error
        ids = line_ids(file.lines)
        recorded = self._recorded(ids)
        rest = [
            one._replace(amount=money.add(one.amount, money.negated(_sum(recorded.get(id_, ())))))
            for one, id_ in zip(file.lines, ids, strict=True)
        ]
        statements = self._open_statements(remaining_seconds, chain.from_iterable(recorded.values()))
        paid = {
            index: [one["statement"] for one in recorded[id_] if one.get("statement")]
            for index, id_ in enumerate(ids)
            if id_ in recorded
        }
        payers = self._payers(sorted({one.account.agency for one in statements}))
        proposals = [
            ProposedPayment(Match.RECORDED, "it is recorded already")
            if id_ in recorded and not line.amount
            else proposal
            for id_, line, proposal in zip(ids, rest, propose(rest, statements, payers, paid), strict=True)
        ]
        lines: list[api.MatchedLine] = [
            {
                "line": number,
                **_shown(line),
                "recorded": money.plain(_sum(recorded.get(id_, ()))),
                **_proposed(proposal),
                "events": _events(id_, len(recorded.get(id_, ())), line, proposal.parts, self.zone),
                "rest": _rest(id_, recorded.get(id_, ()), line, proposal, self.zone),
            }
            for number, (id_, line, proposal) in enumerate(zip(ids, file.lines, proposals, strict=True), 1)
        ]
        return {
            "format": file.format,
            "problems": list(file.problems),
            "statements": [_statement(one, lines) for one in file.statements],
            "sums": _sums(lines, file.bad),
            "bad": [{"line": one.line, "reason": one.reason, "text": one.text} for one in file.bad],
            "unread": sum(one.amount is None for one in file.bad),
            "lines": lines,
        }

    def _open_statements(
        self, remaining_seconds: Callable[[], float], recorded: Iterable[Facts]
    ) -> list[OpenStatement]:
        """Return what is open after the lines of the file that are recorded, whatever is counted so far."""
        return [
            OpenStatement(account, one.document.number, one.document.period, one.open, one.document.closing)
            for account, allocation in self.receivables.all_open(remaining_seconds, recorded)
            for one in allocation.receivables
            if one.open
        ]

    def _payers(self, agencies: Sequence[str]) -> list[Payer]:
        """Return the names and the IBANs of those agencies that are registered."""
        names = {latest_key(agency_document(one))["pk"]: one for one in agencies}
        found = []
        for values in self.entities.get_many([latest_key(agency_document(one)) for one in agencies]):
            agency = read_agency(exact_json.parse(values["content"]))
            if isinstance(agency, Agency):
                own = filter(None, (agency.legal_name, *agency.payer_names))
                ibans = filter(None, (agency.iban, *agency.payer_ibans))
                found.append(Payer(names[values["pk"]], tuple(own), tuple(ibans)))
        return found

    def _recorded(self, ids: Sequence[str]) -> Mapping[str, Sequence[Facts]]:
        """Return the facts of the payments that are recorded of each line, in the order of their events."""
        found: dict[str, list[Facts]] = {}
        sought = list(dict.fromkeys(ids))
        for part in range(_MOST_PARTS):
            identities = {Identity(SOURCE, part_id(one, part)): one for one in sought}
            facts = self.events.find_all(list(identities), self.workers)
            sought = []
            for one in facts:
                id_ = identities[Identity(one["source"], one["id"])]
                found.setdefault(id_, []).append(one)
                sought.append(id_)
            if not sought:
                break
        return found


def part_id(line_id: str, part: int) -> str:
    """Return the id of the event of a part of a line, counted from 0."""
    return line_id if part == 0 else f"{line_id}-{part + 1}"


def _sum(payments: Sequence[Facts]) -> Decimal:
    return money.total(Decimal(one["amount"]) for one in payments)


def _shown(line: BankLine) -> "api.BankFileLine":
    return {
        "date": line.booked_on.isoformat(),
        "amount": money.plain(line.amount),
        "currency": line.currency,
        "account": line.account,
        "name": line.name,
        "iban": line.iban,
        "reference": line.reference,
        "bank_reference": line.bank_reference,
        "reversal": line.reversal,
        "statement": line.statement,
    }


def _proposed(proposal: ProposedPayment) -> "api.Proposal":
    return {
        "match": proposal.match,
        "outcome": proposal.outcome,
        "certain": proposal.certain,
        "reason": proposal.reason,
        "candidates": list(proposal.candidates),
    }


def _statement(statement: BankStatement, lines: "Sequence[api.MatchedLine]") -> "api.MatchedStatement":
    own = (one for one in lines if one["statement"] == statement.statement)
    return {
        "statement": statement.statement,
        "account": statement.account,
        "number": statement.number,
        "currency": statement.currency,
        "since": statement.since.isoformat() if statement.since else None,
        "until": statement.until.isoformat() if statement.until else None,
        "opening": money.plain(statement.opening),
        "amount": money.plain(statement.amount),
        "closing": money.plain(statement.closing),
        "lines": statement.lines,
        "recorded": sum(1 for one in own if Decimal(one["recorded"])),
        "repeats": statement.repeats,
    }


def _sums(lines: "Sequence[api.MatchedLine]", bad: Sequence[BadBankRow]) -> "list[api.CurrencyLines]":
    """Return the sums of lines by currency and outcome, and of the bad rows whose amount can be read."""
    amounts: dict[str, dict[LineOutcome, list[Decimal]]] = {}
    for one in lines:
        outcomes = amounts.setdefault(one["currency"], {})
        outcomes.setdefault(one["outcome"], []).append(Decimal(one["amount"]))
    for row in bad:
        if row.amount is not None:
            amounts.setdefault(row.currency, {}).setdefault(LineOutcome.BAD, []).append(row.amount)
    return [
        {
            "currency": currency,
            "lines": sum(map(len, outcomes.values())),
            "amount": money.plain(money.total(one for found in outcomes.values() for one in found)),
            "outcomes": [
                {"outcome": one, "lines": len(outcomes[one]), "amount": money.plain(money.total(outcomes[one]))}
                for one in LineOutcome
                if one in outcomes
            ],
        }
        for currency, outcomes in sorted(amounts.items())
    ]


def _rest(
    line_id: str, recorded: Sequence[Facts], line: BankLine, proposal: ProposedPayment, zone: tzinfo
) -> "api.UnassignedPayment | None":
    """Return what would record all of a line that is not recorded; ``None`` if no person is needed for it."""
    amount = money.add(line.amount, money.negated(_sum(recorded)))
    if proposal.outcome not in {LineOutcome.REVIEW, LineOutcome.NO_PAYMENT} or not amount:
        return None
    return _event(part_id(line_id, len(recorded)), line, amount, None, zone)


def _events(
    line_id: str, first: int, line: BankLine, parts: Sequence[PaidPart], zone: tzinfo
) -> "list[api.ProposedPayment]":
    """Return the payments of a line as CloudEvents: the same line and part always have the same id."""
    return [
        {**_event(part_id(line_id, first + number), line, one.amount, one.number, zone), "subject": one.agency}
        for number, one in enumerate(parts)
    ]


def _event(id_: str, line: BankLine, amount: Decimal, statement: str | None, zone: tzinfo) -> "api.UnassignedPayment":
    extra = {"reference": line.reference, "payer": line.name}
    return {
        "specversion": "1.0",
        "source": SOURCE,
        "id": id_,
        "type": PAYMENT,
        "time": iso_seconds(start_of(line.booked_on, zone)),
        "data": {
            "amount": money.plain(money.on_statement(amount, line.currency)),
            "currency": line.currency,
            **({"statement": statement} if statement else {}),
            "reason": REASON,
            "extra": {name: text for name, text in extra.items() if text},
        },
    }
