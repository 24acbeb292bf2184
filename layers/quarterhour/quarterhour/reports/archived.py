"""The postings of archived ledger items, read from the sealed files of their quarter-hours."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from quarterhour.aws.items import Item
from quarterhour.aws.resources import Resources
from quarterhour.aws.retries import code_of, with_retries
from quarterhour.aws.telemetry import logger
from quarterhour.aws.workers import Workers
from quarterhour.ledger.postings.segments import (
    LedgerKey,
    is_archived,
    item_key_of,
    part_of,
    unarchived_item,
)
from quarterhour.model.errors import LedgerItemError, SealedFileError
from quarterhour.model.identifiers import Partition
from quarterhour.reports.keys import Part

if TYPE_CHECKING:
    from quarterhour.ledger.postings.segments import PostingValues
    from quarterhour.reports.sealed_files import SealedFiles


class ArchivedPostings:
    """Reads archived items: each sealed file once a call, some files at a time.

    ``files``: ``None`` in a function that may read none; it leaves archived items as they are.
    """

    def __init__(self, files: "SealedFiles | None", workers: Workers) -> None:
        self._files = files
        self._workers = workers

    @classmethod
    def of(cls, resources: Resources) -> "ArchivedPostings":
        """Return the reader of a function; one without an S3 bucket leaves archived items as they are."""
        bucket = resources.env.optional("REPORT_BUCKET", "the name of a bucket", str)
        if bucket is None:
            return cls(None, resources.workers)
        # Only a deployment that archives loads them.
        from quarterhour.reports.sealed_files import SealedFiles  # noqa: PLC0415

        return cls(SealedFiles(resources.s3, bucket), resources.workers)

    def __call__(self, items: Sequence[Item]) -> Sequence[Item]:
        """Return ledger items, those that are archived with their postings.

        An item stays archived, and the log says why, if its sealed file does not hold its postings or may not be read.
        Raises ``UnavailableError`` if S3 does not answer.
        """
        archived = [item for item in items if is_archived(item)]
        if not archived:
            return items
        by_part: defaultdict[Part, list[Item]] = defaultdict(list)
        for item in archived:
            quarter_hour = Partition.parse(item["quarter_hour"]["S"]).quarter_hour
            by_part[Part(quarter_hour, part_of(item))].append(item)
        read = self._workers.map(lambda part: self._read(part, by_part[part]), list(by_part))
        found = {key: item for some in read for key, item in some.items()}
        return [found.get(_key(item), item) for item in items]

    def _read(self, part: Part, items: Sequence[Item]) -> Mapping[LedgerKey, Item]:
        """Return the archived items of a part that could be read, with their postings, by their keys."""
        files = self._files
        if not files:
            logger.error("archived events cannot be read: LedgerRetentionMonths is 0", part=str(part))
            return {}
        keys = {_key(item): item for item in items}
        try:
            postings = with_retries(lambda: files.postings_in(part, keys), "S3")
        except (SealedFileError, ClientError) as error:
            logger.error("archived events cannot be read", part=str(part), error=code_of(error) or str(error))
            return {}
        by_item: defaultdict[LedgerKey, list[PostingValues]] = defaultdict(list)
        for posting in postings:
            by_item[item_key_of(posting)].append(posting)
        read: dict[LedgerKey, Item] = {}
        for key, item in keys.items():
            try:
                read[key] = unarchived_item(item, by_item[key])
            except LedgerItemError as error:
                logger.error("archived events cannot be read", part=str(part), error=str(error))
        return read


def _key(item: Item) -> LedgerKey:
    return item["quarter_hour"]["S"], item["position"]["S"]
