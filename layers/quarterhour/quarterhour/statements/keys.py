"""Keys of the statements: objects in the bucket, and items of the Entity table; built and parsed only here."""

import re
from datetime import date
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from quarterhour.aws.entity import IndexRange, Key, Range
from quarterhour.model.identifiers import SEPARATOR, Account
from quarterhour.model.periods import Period

STATEMENTS: Final = "statements/"
WORK: Final = "work/"
"""The prefix of work objects, which the steps of a run pass on; they are needed until the run is finished."""
MANIFEST: Final = "manifest.json"
LIST: Final = "statements.csv"
"""The file of a release that lists its statements, with their figures and the hashes of their files."""
DRAFT: Final = "draft.json"
DRAFT_LIST: Final = "drafts.csv"
"""The file of a period that lists its drafts, with their figures and the hashes of their files."""
TURNOVER: Final = "turnover.jsonl.gz"
"""The file of a period with the turnover, by account, that counts in the months after it, too."""
STATEMENT: Final = "statement.json"
PAGE: Final = "statement.html"
XML: Final = "statement.xml"
"""The file of a statement for other systems; a statement that EN 16931 cannot express has none."""
LINES: Final = "lines.csv.gz"

PROGRESS_KEY: Final[Key] = {"pk": "CONTROL", "sk": "statements"}
"""The key of the control item with the last sealed period and the plan under way."""
PERIODS: Final = "PERIOD"
"""The partition of the sealed periods' items, ordered by time."""

_OF_PERIOD: Final = f"STATEMENTS{SEPARATOR}"
_OF_AGENCY: Final = f"STATEMENTS-OF{SEPARATOR}"
_DRAFTS_OF: Final = f"DRAFTS{SEPARATOR}"
_BILLED: Final = f"BILLED{SEPARATOR}"
_NUMBERS: Final = f"NUMBER{SEPARATOR}"
_OPEN_DRAFTS: Final = "OPEN-DRAFTS"
_DUE_DRAFTS: Final = "DUE-DRAFTS"
_FIRST: Final = " "
_LAST: Final = "\U0010ffff"
"""Before the first and after the last name; no name has a character like the last."""
_MAX_FOLDER: Final = 200
"""Characters of a folder's name; the name of a file on disk has at most 255."""
_KEPT: Final = 60
_OF_A_PERIOD: Final = re.compile(r"statements/(\d{4}-(?:0[1-9]|1[0-2]))/", re.ASCII)
_MANIFEST: Final = re.compile(r"statements/(\d{4}-(?:0[1-9]|1[0-2]))/manifest\.json", re.ASCII)


def period_prefix(period: Period) -> str:
    """Return the prefix of a period's objects: ``statements/2026-11/``."""
    return f"{STATEMENTS}{period}/"


def manifest_key(period: Period) -> str:
    """Return the object key of a period's manifest: ``statements/2026-11/manifest.json``."""
    return f"{period_prefix(period)}{MANIFEST}"


def draft_list_key(period: Period) -> str:
    """Return the object key of the list of a period's drafts: ``statements/2026-11/drafts.csv``."""
    return f"{period_prefix(period)}{DRAFT_LIST}"


def statement_prefix(period: Period, account: Account, revision: int = 1) -> str:
    """Return the prefix of a statement's objects: ``statements/2026-11/42/GBP/`` (``folder_of`` the agency).

    ``revision``: the number of the document among those of the account and the period. The second one is a
    cancellation, and is in ``statements/2026-11/42/GBP/2/``. The draft and its lines are beside the first.
    """
    first = f"{period_prefix(period)}{folder_of(account.agency)}/{account.currency}/"
    return first if revision == 1 else f"{first}{revision}/"


def period_of_object(key: str) -> Period | None:
    """Parse the period from the object key of any file of a period; return ``None`` for any other key."""
    match = _OF_A_PERIOD.match(key)
    return Period.parse(match[1]) if match else None


def period_of_manifest(key: str) -> Period | None:
    """Parse the period from the object key of its manifest; return ``None`` for any other key."""
    match = _MANIFEST.fullmatch(key)
    return Period.parse(match[1]) if match else None


def day_totals_key(period: Period, day: date) -> str:
    """Return the object key of a day's collected totals: ``work/2026-11/2026-11-03/totals.jsonl.gz``."""
    return f"{WORK}{period}/{day}/totals.jsonl.gz"


def piece_key(period: Period, day: date, piece: int, group: int) -> str:
    """Return the object key of a piece of a day's collected lines: ``work/2026-11/2026-11-03/lines-000-0007.txt``."""
    return f"{WORK}{period}/{day}/lines-{piece:03d}-{group:04d}.txt"


def roster_key(period: Period) -> str:
    """Return the object key of the accounts of a period: ``work/2026-11/roster.jsonl.gz``."""
    return f"{WORK}{period}/roster.jsonl.gz"


def turnover_key(period: Period) -> str:
    """Return the object key of the turnover that a period passes on: ``statements/2026-11/turnover.jsonl.gz``."""
    return f"{period_prefix(period)}{TURNOVER}"


def turnover_work_key(period: Period) -> str:
    """Return the object key of that turnover before the period is published: ``work/2026-11/turnover.jsonl.gz``."""
    return f"{WORK}{period}/{TURNOVER}"


def written_key(period: Period, group: int) -> str:
    """Return the object key of the list rows of a written group: ``work/2026-11/written-0007.jsonl.gz``."""
    return f"{WORK}{period}/written-{group:04d}.jsonl.gz"


def period_key(period: Period) -> Key:
    """Return the key of a sealed period's item."""
    return {"pk": PERIODS, "sk": str(period)}


def sealed_periods() -> Range:
    """Return the items of the sealed periods, the newest first."""
    return Range(PERIODS, "0000", "9999-99", descending=True, consistent=True)


def statement_key(period: Period, account: Account) -> Key:
    """Return the key of a statement's item: ``STATEMENTS#2026-11``, ``42#GBP``."""
    return {"pk": f"{_OF_PERIOD}{period}", "sk": str(account)}


def statement_index(period: Period, account: Account) -> dict[str, str]:
    """Return the index attributes by which an agency's statements are found, ordered by period and currency."""
    return {"gsi1pk": f"{_OF_AGENCY}{account.agency}", "gsi1sk": f"{period}{SEPARATOR}{account.currency}"}


def draft_key(period: Period, account: Account) -> Key:
    """Return the key of a draft's item: ``DRAFTS#2026-11``, ``42#GBP``."""
    return {"pk": f"{_DRAFTS_OF}{period}", "sk": str(account)}


def draft_index(period: Period, account: Account, *, is_open: bool, due: str) -> dict[str, str]:
    """Return the index attributes of a draft: one lists all that have no statement, one what is ``due``."""
    place = draft_place(period, account)
    of_open = {"gsi1pk": _OPEN_DRAFTS, "gsi1sk": place} if is_open else {}
    return {**of_open, **({"gsi2pk": _DUE_DRAFTS, "gsi2sk": place} if due else {})}


def draft_place(period: Period, account: Account) -> str:
    """Return the place of a draft in the indexes: ``2026-11#42#GBP``."""
    return f"{period}{SEPARATOR}{account}"


def open_drafts(after: str = _FIRST) -> IndexRange:
    """Return the drafts without a statement by period and account, from a place on."""
    return IndexRange("gsi1", _OPEN_DRAFTS, after, _LAST)


def due_drafts() -> IndexRange:
    """Return the drafts that the next run of the releases changes, by period and account."""
    return IndexRange("gsi2", _DUE_DRAFTS, _FIRST, _LAST)


def last_document_key(account: Account) -> Key:
    """Return the key of the item with an account's last document: ``BILLED#42#GBP``, ``last``."""
    return {"pk": f"{_BILLED}{account}", "sk": "last"}


def number_key(number: str) -> Key:
    """Return the key of the item that names the statement of a number: ``NUMBER#S-000001``, ``statement``."""
    return {"pk": f"{_NUMBERS}{number}", "sk": "statement"}


def statements_of_period(period: Period, after: str | None = None) -> Range:
    """Return the statements of a period and the changes of their statuses, from the sort key ``after`` on."""
    return Range(f"{_OF_PERIOD}{period}", _FIRST, _LAST, after=after)


def statements_of_accounts(period: Period, first: Account, last: Account) -> Range:
    """Return the statements of a period from an account to another one, and the changes of their statuses."""
    return Range(f"{_OF_PERIOD}{period}", str(first), f"{last}{_LAST}")


def statements_of_agency(agency: str, period: Period | None = None) -> IndexRange:
    """Return an agency's statements and the changes of their statuses, the newest first: of all periods, or of one."""
    low, high = (_FIRST, _LAST) if period is None else (f"{period}{SEPARATOR}", f"{period}{SEPARATOR}{_LAST}")
    return IndexRange("gsi1", f"{_OF_AGENCY}{agency}", low, high, descending=True)


def folder_of(agency: str) -> str:
    """Return the name of an agency's folder: percent-encoded; of a very long name its beginning and its hash.

    On disk it differs from the names of the period's own files, and from the folder itself and the one above.
    """
    encoded = quote(agency, safe="")
    if not agency.strip(".") or agency in {MANIFEST, LIST, DRAFT_LIST, TURNOVER}:
        return encoded.replace(".", "%2E")
    if len(encoded) <= _MAX_FOLDER:
        return encoded
    # No encoded name has an equals sign, so none is like that of a longer one.
    return f"{encoded[:_KEPT]}={sha256(agency.encode()).hexdigest()[:32]}"
