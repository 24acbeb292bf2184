"""The roster of a release: its documents with their numbers, by account; a work object."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from tempfile import TemporaryFile
from typing import NamedTuple

from quarterhour.model.errors import SealedFileError
from quarterhour.reports.digests import stream_digest
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.drafts.work_objects import last_value, read_values, value_writer
from quarterhour.statements.releases.keys import release_roster_key
from quarterhour.statements.releases.plan import DOCUMENTS_OF_A_GROUP, ReleaseEntry, ReleasePlan, next_numbers


class Numbered(NamedTuple):
    """The number of groups of accounts on a roster, and the next number of each series, by prefix."""

    groups: int
    series: Mapping[str, int]


def is_numbered(files: SealedFiles, plan: ReleasePlan) -> bool:
    """Return whether a release has its roster."""
    return files.exists(release_roster_key(plan.number))


def write_roster(files: SealedFiles, plan: ReleasePlan, entries: Sequence[ReleaseEntry]) -> None:
    """Write the roster: a value for each account, then the next numbers.

    If another run has written it first, that one counts, as drafts may have been decided about between the two.
    """
    with TemporaryFile() as file:
        with value_writer(file) as write:
            for one in entries:
                write(one.as_list())
            series = next_numbers(plan, (one.kind for entry in entries for one in entry.documents))
            write({"accounts": len(entries), "series": series})
        file.seek(0)
        with suppress(SealedFileError):
            files.create(release_roster_key(plan.number), file, stream_digest(file))


def read_numbered(files: SealedFiles, plan: ReleasePlan) -> Numbered:
    """Return what the roster of a release ends with."""
    with files.copied(release_roster_key(plan.number)) as file:
        last = last_value(file)
    return Numbered(-(-int(last["accounts"]) // DOCUMENTS_OF_A_GROUP), last["series"])


def read_entries(files: SealedFiles, plan: ReleasePlan, group: int) -> Iterator[ReleaseEntry]:
    """Yield the accounts of a group, with their documents."""
    first = group * DOCUMENTS_OF_A_GROUP
    with files.copied(release_roster_key(plan.number)) as file:
        entries = (values for values in read_values(file) if isinstance(values, list))
        yield from map(ReleaseEntry.of, islice(entries, first, first + DOCUMENTS_OF_A_GROUP))
