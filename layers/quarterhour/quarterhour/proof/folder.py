"""Verifies the folder of one statement, as its agency has downloaded it, without any other file."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import Final

from quarterhour.ledger.reading.explanation import commission_matches
from quarterhour.model import exact_json
from quarterhour.model.clock import parse_iso
from quarterhour.model.identifiers import SEPARATOR, Account, Identity, Position
from quarterhour.model.periods import Period, time_zone
from quarterhour.model.schema import check_schema
from quarterhour.proof.arithmetic import bounds_of
from quarterhour.proof.compare import Json, differences
from quarterhour.proof.files import IN_MEMORY, UNREADABLE, CheckedFiles
from quarterhour.proof.line_sums import LineSums, Signs
from quarterhour.proof.reports import OpenObject
from quarterhour.proof.statement import shown_problems, statement_of
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.lines import Line, read_lines
from quarterhour.statements.keys import LINES, PAGE, STATEMENT, XML
from quarterhour.statements.listing import SealedObject

NOT_CHECKED: Final = (
    "whether this is the sealed statement: compare the SHA-256 with the list of its release, statements.csv",
    "whether its number follows the previous one without a gap",
    "whether the lines are all those of the account and the period, and on no other statement",
    "whether the figures of the previous statement are right",
    "whether it is cancelled, and, if it cancels another one, whether it has the same parties and taxes",
    "whether the parties and the tax profiles were in force at their dates",
)
"""What cannot be checked without other files."""
_BASE: Final = "whether the figures in the base currency follow from the pinned exchange rates"


@dataclass(slots=True)
class FolderVerification:
    """The name and figures of a folder's statement, and every problem found. ``sha256``: of its ``statement.json``."""

    number: str = ""
    period: str = ""
    account: str = ""
    closing: str = ""
    lines: int = 0
    sha256: str = ""
    problems: list[str] = field(default_factory=list)
    not_checked: tuple[str, ...] = NOT_CHECKED

    @property
    def consistent(self) -> bool:
        """Whether no problem was found."""
        return not self.problems


def verify_folder(open_object: OpenObject) -> FolderVerification:
    """Verify that the files of a statement agree: lines, every figure, page, XML, hash of the lines."""
    files = CheckedFiles(open_object)
    found = FolderVerification(problems=files.problems)
    content = files.content(STATEMENT)
    page = files.content(PAGE)
    if content is None:
        return found
    found.sha256 = hexdigest(content)
    try:
        document = exact_json.parse_sealed(content)
        _check_schema(document)
        found.number, found.period = document["number"], document["period"]
        found.account = str(Account(document["agency"], document["currency"]))
        found.closing = document["closing"]
        if document["base"]:
            found.not_checked = (*NOT_CHECKED, _BASE)
        recomputed = _recompute(files, document)
        if recomputed:
            found.lines = recomputed.lines
            header = {**document, **bounds_of(Period.parse(found.period), time_zone(document["time_zone"]))}
            files.report(STATEMENT, differences(document, statement_of(recomputed, header, "", document["lines_file"])))
        files.report(STATEMENT, shown_problems(document))
        found_xml = {XML: files.content(XML)} if files.has(XML) else {}
        files.check_rendered("", document, {PAGE: page, **found_xml})
    except UNREADABLE as error:
        files.unreadable(STATEMENT, error)
    return found


def _check_schema(document: Json) -> None:
    if document.get("preview"):
        raise ValueError("it is a preview: only sealed statements can be verified")
    check_schema(document["schema"])


def _recompute(files: CheckedFiles, document: Json) -> LineSums | None:
    """Check each line, and add up all of them; return ``None`` if they cannot be read."""
    zone, taxes = time_zone(document["time_zone"]), document.get("taxes", ())
    recomputed = LineSums(document["period"], zone, taxes=taxes, signs=Signs.of(document))
    lines_file = document["lines_file"]
    with SpooledTemporaryFile(IN_MEMORY) as file:
        if files.copy(LINES, file, SealedObject(lines_file["sha256"], lines_file["size"])) is None:
            return None
        check = _LineCheck(document)
        try:
            for number, line in enumerate(read_lines(file), 2):
                recomputed.add(line)
                files.report(f"{LINES}: line {number}", check.problems(line))
        except UNREADABLE as error:
            files.unreadable(LINES, error)
            return None
    return recomputed


class _LineCheck:
    """Checks the lines of a statement one after the other."""

    def __init__(self, document: Json) -> None:
        self._account = Account(document["agency"], document["currency"])
        self._period: str = document["period"]
        self._until = parse_iso(document["recorded_until"])
        self._quarter_hour = ""
        self._seen: set[str] = set()

    def problems(self, line: Line) -> Iterator[str]:
        """Yield what is wrong with the next line."""
        identity, position = Identity(line["source"], line["id"]), Position.parse(line["position"])
        quarter_hour, _, _ = line["quarter_hour"].partition(SEPARATOR)
        if Account(line["agency"], line["currency"]) != self._account:
            yield f"{identity} is of {line['agency']}{SEPARATOR}{line['currency']}"
        if line["period"] > self._period:
            yield f"{identity} is of a later period, {line['period']}"
        if position.recorded_at >= self._until:
            yield f"{identity} was recorded after the last line of the statement"
        if quarter_hour < self._quarter_hour:
            yield f"{identity} is not in the order of recording"
        if quarter_hour > self._quarter_hour:
            self._quarter_hour = quarter_hour
            self._seen.clear()
        if str(identity) in self._seen or line["position"] in self._seen:
            yield f"{identity} is there twice"
        self._seen |= {str(identity), line["position"]}
        if line["terms"] and not commission_matches(line):
            yield f"{identity} pays another commission than its terms give"
