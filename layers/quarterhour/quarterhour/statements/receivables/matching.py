"""Matches lines of a bank's file to open statements, pure. A match is certain or left to a person, and never guessed.

Certain is a line that names its statements by number and pays no more than is open of one, exactly what is open of
several, or the sum that one asks for. So is money from the IBAN or of the name of one agency, if it is exactly what is
open of one of its statements, or of all. All else is proposed for review, or matches nothing: so is a name in other
words.

Of no statement, more is proposed than is open: certain lines come first, then those in review, by their order.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from types import MappingProxyType
from typing import Final, NamedTuple

from quarterhour.file_formats.bank.line import NOT_BOOKED, REPEATED, BankLine
from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.statements.receivables.payer_names import exact_names, loose_name

_MOST_CANDIDATES: Final = 10
"""The most statements that a reason names."""
_DIGITS: Final = 6
"""The fewest digits of what looks like a number of a statement."""
_SEPARATOR: Final = r"[\s\-/._]*"
_NOTHING: Final[Mapping[int, Collection[str]]] = MappingProxyType({})


class Match(StrEnum):
    """What a line of a bank's file matches, and by what."""

    NUMBER = "number"
    """The statement that it names."""
    NUMBERS = "numbers"
    """Several statements that it names."""
    BALANCE = "balance"
    """The sum that the statement asks for, which it names: older statements are paid by it, too."""
    PART = "part"
    """A part of what is open of the statement that it names, or of its agency."""
    PAYER = "payer"
    """A statement of the agency that paid, by its exact amount."""
    ALL = "all"
    """All open statements of the agency that paid, by their exact sum."""
    AMOUNT = "amount"
    """A statement of this exact amount; nothing else tells whose money it is."""
    AMBIGUOUS = "ambiguous"
    """More than one statement."""
    EXCESS = "excess"
    """It is more than what is open of what it names, or of its agency."""
    CONTRADICTION = "contradiction"
    """It names what it cannot pay: what is cleared already, another currency, another agency's statement."""
    REVERSAL = "reversal"
    """It takes back an earlier line."""
    RECORDED = "recorded"
    """It is recorded already."""
    NOT_BOOKED = NOT_BOOKED
    """The bank has not booked it yet."""
    REPEATED = REPEATED
    """Its statement is in the file twice."""
    NONE = "none"
    """Nothing."""


class LineOutcome(StrEnum):
    """What becomes of a line of a bank's file: it is a payment, or excluded by a rule."""

    CERTAIN = "certain"
    """A payment that needs no look."""
    REVIEW = "review"
    """A payment, or what may be one, for a person to look at."""
    RECORDED = "recorded"
    """A payment that is recorded already."""
    NO_PAYMENT = "no_payment"
    """Excluded: nothing in it is for an open statement."""
    NOT_BOOKED = NOT_BOOKED
    """Excluded: the bank has not booked it yet."""
    REPEATED = REPEATED
    """Excluded: its statement is in the file twice."""
    BAD = "bad"
    """A row of CSV that cannot be read."""


_OUTCOMES: Final = MappingProxyType(
    {
        Match.RECORDED: LineOutcome.RECORDED,
        Match.NONE: LineOutcome.NO_PAYMENT,
        Match.NOT_BOOKED: LineOutcome.NOT_BOOKED,
        Match.REPEATED: LineOutcome.REPEATED,
    }
)
_EXCLUDED: Final = MappingProxyType(
    {
        NOT_BOOKED: (Match.NOT_BOOKED, "the bank has not booked it yet"),
        REPEATED: (Match.REPEATED, "its statement is in this file twice"),
    }
)


class OpenStatement(NamedTuple):
    """What is open of a statement or a credit note; negative if the marketplace owes it.

    ``closing``: the balance that the document asks for; ``None`` if it is not known.
    """

    account: Account
    number: str
    period: Period
    open: Decimal
    closing: Decimal | None = None


class Payer(NamedTuple):
    """By what the bank's lines tell an agency: its names and IBANs, as far as they are registered."""

    agency: str
    names: tuple[str, ...] = ()
    ibans: tuple[str, ...] = ()


class PaidPart(NamedTuple):
    """A part of a line: what it pays of a statement, or without one of the agency's oldest."""

    agency: str
    number: str | None
    amount: Decimal


class ProposedPayment(NamedTuple):
    """What a line would pay, and why. ``candidates``: the numbers among which a person chooses."""

    match: Match
    reason: str
    certain: bool = False
    parts: tuple[PaidPart, ...] = ()
    candidates: tuple[str, ...] = ()

    @property
    def outcome(self) -> LineOutcome:
        """What becomes of the line."""
        return LineOutcome.CERTAIN if self.certain else _OUTCOMES.get(self.match, LineOutcome.REVIEW)


def propose(
    lines: Sequence[BankLine],
    statements: Iterable[OpenStatement],
    payers: Iterable[Payer],
    paid: Mapping[int, Collection[str]] = _NOTHING,
) -> list[ProposedPayment]:
    """Return the proposal of each line, in their order.

    ``paid``: the numbers of the statements for which a part of a line is recorded already, by the line's place.
    """
    matching = _Matching.of(statements, payers)
    found: dict[int, ProposedPayment] = {}
    named = [matching.numbers.named_in(one.reference, paid.get(index, ())) for index, one in enumerate(lines)]
    # What names its statement goes before what only has its amount.
    for with_number in (True, False):
        for index, line in enumerate(lines):
            if bool(named[index]) is with_number and (proposal := matching.proposal(line, named[index])).certain:
                found[index] = matching.taken(proposal)
    for index, line in enumerate(lines):
        if index not in found:
            # It may look certain by now, because a line in review has taken something else.
            found[index] = matching.taken(matching.proposal(line, named[index])._replace(certain=False))
    return [found[index] for index in range(len(lines))]


class _Numbers:
    """Finds numbers of statements in texts, however banks have changed letters, signs and blanks."""

    def __init__(self, numbers: Iterable[str]) -> None:
        self._spelled = {_letters(one): one for one in numbers}
        prefixes = {one.rstrip("0123456789") for one in numbers}
        bare = sorted({_letters(one) for one in prefixes}, key=len, reverse=True)
        signs = "|".join(_SEPARATOR.join(map(re.escape, one)) for one in bare)
        digits = rf"\d(?:{_SEPARATOR}\d){{{_DIGITS - 1},}}"
        self._pattern = re.compile(rf"(?<![A-Z0-9])({signs}){_SEPARATOR}({digits})(?!\d)") if bare else None
        self._exact = {one for one in self._spelled if not re.fullmatch(rf".*\d{{{_DIGITS}}}", one)}

    def named_in(self, text: str, paid: Collection[str]) -> dict[str, bool]:
        """Return the numbers that a text names, each with whether something of it is open; those of ``paid`` if so."""
        if self._pattern is None:
            return {}
        upper = text.upper()
        done = set(map(_letters, paid))
        found: dict[str, bool] = {}
        for one in self._pattern.finditer(upper):
            number = next(filter(None, map(self._spelled.get, _spellings(one[1], one[2]))), None)
            # Without a prefix, it can be any other number.
            if number or (one[1] and done.isdisjoint(_spellings(one[1], one[2]))):
                found[number or " ".join(one[0].split())] = number is not None
        for word in re.findall(r"[^\s,;:]+", upper) if self._exact else ():
            if (spelled := _letters(word)) in self._exact:
                found[self._spelled[spelled]] = True
        return found


def _spellings(prefix: str, digits: str) -> Iterator[str]:
    """Yield what a number can be: all digits, or those up to a separator, which may begin something else."""
    yield _letters(prefix + digits)
    for end in reversed([one.start() for one in re.finditer(r"(?<=\d)[^\d]+", digits)]):
        if len(_letters(digits[:end])) >= _DIGITS:
            yield _letters(prefix + digits[:end])


@dataclass(slots=True)
class _Matching:
    """The open statements, of which proposals take; the oldest first."""

    statements: dict[str, OpenStatement]
    numbers: _Numbers
    by_account: dict[Account, list[OpenStatement]] = field(default_factory=dict)
    by_iban: dict[str, set[str]] = field(default_factory=dict)
    by_name: dict[str, set[str]] = field(default_factory=dict)
    by_loose_name: dict[tuple[str, ...], dict[str, str]] = field(default_factory=dict)
    left: dict[str, Decimal] = field(default_factory=dict)
    by_open: dict[tuple[str, Decimal], list[OpenStatement]] = field(default_factory=dict)

    @classmethod
    def of(cls, statements: Iterable[OpenStatement], payers: Iterable[Payer]) -> "_Matching":
        ordered = sorted(statements, key=lambda one: (one.period, one.number))
        result = cls({one.number: one for one in ordered}, _Numbers([one.number for one in ordered]))
        for one in ordered:
            result.left[one.number] = one.open
            result.by_account.setdefault(one.account, []).append(one)
            result.by_open.setdefault((one.account.currency, one.open.normalize()), []).append(one)
        for payer in payers:
            for iban in payer.ibans:
                result.by_iban.setdefault(_letters(iban), set()).add(payer.agency)
            for name in payer.names:
                for form in exact_names(name):
                    result.by_name.setdefault(form, set()).add(payer.agency)
                if words := loose_name(name):
                    result.by_loose_name.setdefault(words, {})[payer.agency] = name
        return result

    def taken(self, proposal: ProposedPayment) -> ProposedPayment:
        """Return a proposal, whose parts are not open any more."""
        for one in proposal.parts:
            if one.number:
                self.left[one.number] = money.add(self.left[one.number], money.negated(one.amount))
        return proposal

    def proposal(self, line: BankLine, named: Mapping[str, bool]) -> ProposedPayment:
        """Return what a line would pay, as far as it is still open; ``named``: the numbers that it names."""
        if line.excluded:
            return ProposedPayment(*_EXCLUDED[line.excluded])
        if line.amount.is_zero():
            return ProposedPayment(Match.NONE, "it moves nothing")
        if line.reversal:
            return ProposedPayment(Match.REVERSAL, "it takes back an earlier line: record the opposite of that by hand")
        return self._by_number(line, named) if named else self._by_payer(line)

    def _by_number(self, line: BankLine, named: Mapping[str, bool]) -> ProposedPayment:
        found = [self.statements[number] for number, is_open in named.items() if is_open]
        cleared = [number for number, is_open in named.items() if not is_open]
        cleared += [one.number for one in found if self.left[one.number].is_zero()]
        if cleared:
            reason = f"it names {_listed(cleared)}, of which nothing is open"
            # A payout is recorded before the bank makes it.
            return ProposedPayment(Match.CONTRADICTION if line.amount > 0 else Match.NONE, reason)
        numbers = tuple(one.number for one in found)
        agencies = {one.account.agency for one in found}
        others = self._agencies(line)[0] - agencies
        problem = None
        if any(one.account.currency != line.currency for one in found):
            problem = f"it names {_listed(numbers)} in another currency than {line.currency}"
        elif any((one.open > 0) != (line.amount > 0) for one in found):
            problem = f"it names {_listed(numbers)}, which is paid in the other direction"
        elif len(agencies) > 1:
            problem = f"it names statements of several agencies: {_listed(numbers)}"
        elif others:
            problem = f"it names {_listed(numbers)}, and comes from the account of another agency"
        if problem:
            return ProposedPayment(Match.CONTRADICTION, problem, candidates=numbers)
        found.sort(key=lambda one: (one.period, one.number))
        parts, rest = self._split(line.amount, found)
        total = money.total(self.left[one.number] for one in found)
        if line.amount == total:
            match = Match.NUMBER if len(found) == 1 else Match.NUMBERS
            return ProposedPayment(match, f"it names {_listed(numbers)} and pays all of it", certain=True, parts=parts)
        if len(found) == 1 and (whole := self._of_balance(line, found[0])):
            return whole
        if not rest.is_zero():
            reason = f"it names {_listed(numbers)} and is {_figure(rest, line)} more than is open of it"
            return ProposedPayment(Match.EXCESS, reason, parts=(*parts, PaidPart(next(iter(agencies)), None, rest)))
        lacking = _figure(money.add(total, money.negated(line.amount)), line)
        reason = f"it names {_listed(numbers)} and leaves {lacking} open"
        return ProposedPayment(Match.PART, reason, certain=len(found) == 1, parts=parts)

    def _of_balance(self, line: BankLine, named: OpenStatement) -> ProposedPayment | None:
        """Return what a line pays that is the sum that the named statement asks for, or all that is open by then.

        That sum has in it what was open before, so older statements are paid first.
        """
        owed = self._open(named.account, line)
        by_then = [one for one in owed if (one.period, one.number) <= (named.period, named.number)]
        if line.amount == money.total(self.left[one.number] for one in by_then):
            what = "pays all that is open up to it"
        elif line.amount == money.total(self.left[one.number] for one in owed):
            what = "pays all that is open of the agency"
        elif line.amount == named.closing:
            what = "is the sum that this asks for"
        else:
            return None
        parts, rest = self._split(line.amount, owed)
        more = () if rest.is_zero() else (PaidPart(named.account.agency, None, rest),)
        reason = f"it names {named.number} and {what}"
        return ProposedPayment(Match.BALANCE, reason, certain=True, parts=(*parts, *more))

    def _by_payer(self, line: BankLine) -> ProposedPayment:
        agencies, by = self._agencies(line)
        if not agencies:
            return self._by_loose_name(line) or self._by_amount(line)
        if len(agencies) > 1:
            return ProposedPayment(Match.AMBIGUOUS, f"{by} is that of several agencies")
        (agency,) = agencies
        return self._of_agency(line, agency, f"{by} is that of the agency")

    def _by_loose_name(self, line: BankLine) -> ProposedPayment | None:
        """Return what a line would pay whose name is written otherwise than that of an agency; it is never certain."""
        found = self.by_loose_name.get(loose_name(line.name), {})
        if not found:
            return None
        names = _listed(sorted(set(found.values())))
        why = f"the name {line.name} is written like {names}, but for letters, legal form or order of words"
        if len(found) > 1:
            return ProposedPayment(Match.AMBIGUOUS, f"{why}: several agencies")
        return self._of_agency(line, next(iter(found)), why)._replace(certain=False)

    def _of_agency(self, line: BankLine, agency: str, why: str) -> ProposedPayment:
        owed = self._open(Account(agency, line.currency), line)
        if not owed:
            return ProposedPayment(Match.NONE, f"{why}, of which nothing is open in {line.currency}")
        exact = [one for one in owed if self.left[one.number] == line.amount]
        parts, rest = self._split(line.amount, exact[:1] or owed)
        # A payout is certain by its number alone.
        certain = line.amount > 0
        if len(exact) == 1:
            return ProposedPayment(Match.PAYER, f"{why}, and {exact[0].number} alone has this amount", certain, parts)
        numbers = tuple(one.number for one in exact or owed)
        if exact:
            reason = f"{why}, and each of {_listed(numbers)} has this amount"
            return ProposedPayment(Match.AMBIGUOUS, reason, parts=parts, candidates=numbers)
        if money.total(self.left[one.number] for one in owed) == line.amount:
            return ProposedPayment(Match.ALL, f"{why}, and this is all that is open of it", certain, parts)
        if rest.is_zero():
            return ProposedPayment(Match.PART, f"{why}, and the oldest are paid first", parts=parts, candidates=numbers)
        parts = (*parts, PaidPart(agency, None, rest))
        reason = f"{why}, and it is {_figure(rest, line)} more than is open of it"
        return ProposedPayment(Match.EXCESS, reason, parts=parts, candidates=numbers)

    def _by_amount(self, line: BankLine) -> ProposedPayment:
        equal = self.by_open.get((line.currency, line.amount.normalize()), [])
        exact = [one for one in equal if self.left[one.number] == line.amount]
        if line.amount < 0 or not exact:
            return ProposedPayment(Match.NONE, "nothing in it names an open statement or an agency with one")
        if len(exact) > 1:
            numbers = tuple(one.number for one in exact)
            return ProposedPayment(Match.AMBIGUOUS, f"each of {_listed(numbers)} has this amount", candidates=numbers)
        parts, _ = self._split(line.amount, exact)
        return ProposedPayment(Match.AMOUNT, f"{exact[0].number} has this amount; nothing else tells it", parts=parts)

    def _agencies(self, line: BankLine) -> tuple[set[str], str]:
        """Return the agencies that the other party's IBAN, or else its name, tells, and which of both it was."""
        if found := self.by_iban.get(_letters(line.iban)):
            return found, "the IBAN"
        found = {agency for form in exact_names(line.name) for agency in self.by_name.get(form, ())}
        return found, "the name"

    def _open(self, account: Account, line: BankLine) -> list[OpenStatement]:
        """Return what is open of an account in the direction of a line, the oldest first."""
        return [
            one
            for one in self.by_account.get(account, ())
            if not self.left[one.number].is_zero() and (one.open > 0) == (line.amount > 0)
        ]

    def _split(self, amount: Decimal, statements: Iterable[OpenStatement]) -> tuple[tuple[PaidPart, ...], Decimal]:
        """Return the parts of an amount that clear statements in their order, and its rest."""
        parts = []
        for one in statements:
            part = min(amount, self.left[one.number], key=abs)
            if not part.is_zero():
                parts.append(PaidPart(one.account.agency, one.number, part))
                amount = money.add(amount, money.negated(part))
        return tuple(parts), amount


def _letters(text: str) -> str:
    """Return the letters and digits of a text in capitals, without accents."""
    plain = unicodedata.normalize("NFKD", text.casefold()).upper()
    return "".join(one for one in plain if one.isalnum())


def _listed(names: Iterable[str]) -> str:
    shown = list(names)
    more = len(shown) - _MOST_CANDIDATES
    return ", ".join(shown[:_MOST_CANDIDATES]) + (f" and {more} more" if more > 0 else "")


def _figure(amount: Decimal, line: BankLine) -> str:
    return f"{money.plain(abs(money.on_statement(amount, line.currency)))} {line.currency}"
