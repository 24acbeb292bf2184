"""Sealing the files of a period: how the steps of a run create what they have written."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, NamedTuple, Protocol

from quarterhour.aws.workers import Workers
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.drafts.draft import DraftItem
from quarterhour.statements.plan import StatementPlan


class Upload(NamedTuple):
    """A file to create."""

    key: str
    content: IO[bytes] | bytes
    sha256: str


class DraftSealer(Protocol):
    """Seals the files of a period."""

    def seal_files(self, plan: StatementPlan, drafts: Sequence[DraftItem], files: Sequence[Upload]) -> None:
        """Create the files of some drafts, side by side."""

    def seal_period(self, plan: StatementPlan, manifest_sha256: str, files: Sequence[Upload]) -> None:
        """Create the list of the period, and then its manifest."""


@dataclass(frozen=True, slots=True)
class FirstDraftSealer:
    """Seals the files of a period for the first time; a file that exists must have the same bytes."""

    files: SealedFiles
    workers: Workers

    def seal_files(self, _plan: StatementPlan, _drafts: Sequence[DraftItem], files: Sequence[Upload]) -> None:
        """Create the files of some drafts, side by side."""
        self.workers.map(lambda file: self.files.create(*file), files)

    def seal_period(self, _plan: StatementPlan, _manifest_sha256: str, files: Sequence[Upload]) -> None:
        """Create the list of the period, and then its manifest."""
        for file in files:
            self.files.create(*file)
