"""Verifies the drafts of a period: each holds the sealed lines of its account, their sums, and nothing else."""

import io
from collections.abc import Iterator
from decimal import Decimal
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, Final

from quarterhour.model import exact_json
from quarterhour.model.identifiers import Account
from quarterhour.proof.arithmetic import EXACT, text_of
from quarterhour.proof.compare import differences
from quarterhour.proof.files import IN_MEMORY, UNREADABLE
from quarterhour.proof.line_sums import LineSums
from quarterhour.proof.period import NO_LINES, AccountLines, Chains, PeriodVerifier, SealedPeriod, Sources
from quarterhour.proof.statement import comparable, draft_figures, draft_of
from quarterhour.statements.drafts.draft import FIGURES, ListedDraft, read_drafts
from quarterhour.statements.keys import DRAFT, LINES, draft_list_key, statement_prefix

if TYPE_CHECKING:
    from quarterhour.statements.listing import SealedObject

_COUNTS: Final = ("lines", "prior_period_lines")


class DraftsVerifier(PeriodVerifier):
    """Verifies the drafts of one period.

    ``drafts``: the files of their lines, by account. ``unlisted``: the other files of the period, which releases must
    name.
    """

    def __init__(self, sources: Sources, sealed: SealedPeriod, previous: SealedPeriod | None, chains: Chains) -> None:
        super().__init__(sources, sealed, previous, chains)
        self._sums: dict[str, dict[str, Decimal]] = {}
        self.drafts: dict[Account, SealedObject] = {}
        self.unlisted: set[str] = set()
        self.lines = 0

    def _verify_list(self, keys: set[str]) -> dict[str, Any]:
        files, key = self._files, draft_list_key(self._sealed.period)
        self.unlisted = set(keys)
        with SpooledTemporaryFile(IN_MEMORY) as file:
            listed = files.copy(key, file)
            if listed is None:
                self._check_unlisted(keys)
                return {}
            self.unlisted.discard(key)
            last: Account | None = None
            try:
                for number, row in enumerate(_rows(file), 2):
                    if last is not None and row.account <= last:
                        files.problem(f"{key}: line {number}", f"{row.account} is not after {last}")
                    last = row.account
                    self._verify_row(f"{key}: line {number}: {row.account}", row)
            except UNREADABLE as error:
                files.unreadable(key, error)
                return {}
        for (agency, currency), chain in sorted(self._chains.items()):
            files.problem(key, f"has no draft of {Account(agency, currency)}, which has {chain.lines} sealed lines")
        currencies = {
            currency: {name: text_of(value) for name, value in sums.items()} for currency, sums in self._sums.items()
        }
        return {
            "drafts": len(self.drafts),
            "lines": self.lines,
            "currencies": currencies,
            "files": [{"key": key, **listed._asdict()}],
        }

    def _check_unlisted(self, keys: set[str]) -> None:
        """Name the lost files of the drafts that no row lists, by the sealed lines."""
        for account in sorted(Account(*account) for account in self._chains):
            prefix = statement_prefix(self._sealed.period, account)
            for name in (DRAFT, LINES):
                if prefix + name not in keys:
                    self._files.problem(prefix + name, "is missing")

    def _verify_row(self, place: str, row: ListedDraft) -> None:
        sealed, files = self._sealed, self._files
        prefix, chain = (
            statement_prefix(sealed.period, row.account),
            self._chains.pop((row.account.agency, row.account.currency), NO_LINES),
        )
        if not chain.lines:
            files.problem(place, "has no sealed lines")
        self.unlisted -= {prefix + DRAFT, prefix + LINES}
        self.drafts[row.account] = row.files[LINES]
        recomputed = LineSums(str(sealed.period), sealed.zone, self._rate_of if sealed.base else None)
        content = files.content(prefix + DRAFT, row.files[DRAFT])
        if not self._recompute(AccountLines(row.account, prefix + LINES, row.files[LINES], chain), recomputed):
            return
        self.lines += recomputed.lines
        figures = draft_figures(recomputed)
        found = dict(zip((*FIGURES, *_COUNTS), row.as_row()[2:], strict=False))
        files.report(place, differences(found, figures))
        sums = self._sums.setdefault(row.account.currency, dict.fromkeys(FIGURES, Decimal(0)))
        for name in FIGURES:
            sums[name] = EXACT.add(sums[name], Decimal(figures[name]))
        if content is not None:
            self._verify_draft(prefix + DRAFT, content, row, recomputed)

    def _verify_draft(self, key: str, content: bytes, row: ListedDraft, recomputed: LineSums) -> None:
        sealed = self._sealed
        header = {
            "schema": sealed.manifest["schema"],
            "period": str(sealed.period),
            "recorded_until": str(sealed.bound),
            "agency": row.account.agency,
            "currency": row.account.currency,
        }
        try:
            found = comparable(exact_json.parse_sealed(content))
            expected = draft_of(recomputed, header, {"name": LINES, **row.files[LINES]._asdict()})
            self._files.report(key, differences(found, expected))
        except UNREADABLE as error:
            self._files.unreadable(key, error)


def _rows(file: Any) -> Iterator[ListedDraft]:  # noqa: ANN401 - a temporary file
    return read_drafts(io.TextIOWrapper(file, encoding="utf-8", newline=""))
