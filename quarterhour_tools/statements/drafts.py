"""`quarterhour statements --drafts`, `--release`, `--hold` and `--cancel`: what is not released yet, and decisions."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from quarterhour.model.fields import printable
from quarterhour.statements.drafts.draft import DraftState
from quarterhour.statements.releases.checks import REFUSED, Level
from quarterhour.statements.releases.requests import Desired
from quarterhour.statements.status.plan import Status
from quarterhour_tools.bucket import Folder
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import as_json, counted, plain_console, print_table
from quarterhour_tools.statements.files import draft_as_dict, sealed_periods, without_statement
from quarterhour_tools.target.deployment import api, invoke
from quarterhour_tools.target.remote import Json, Remote, segment

_FIGURES: Final = ("net", "commission_exact", "payments")
_MOST_ROWS: Final = 100
"""The most drafts that a table shows."""
_LONGEST_NAME: Final = 200
_UNKNOWN: Final = "unknown"
_HELD: Final = "held"
"""The check of a draft that is held."""
_STARTED: Final = frozenset({DraftState.RELEASING, DraftState.CANCELLING})
"""The states of drafts that the next run of the releases changes."""
_SECOND: Final = "a second person must decide the same"
_DONE: Final[Mapping[str, str]] = {
    DraftState.RELEASING: "is being released",
    DraftState.CANCELLING: "its statement is being cancelled",
    DraftState.HELD: "is held",
    DraftState.PROPOSED: f"release is proposed: {_SECOND}",
    DraftState.CANCEL_PROPOSED: f"cancellation is proposed: {_SECOND}",
}


class Decided(NamedTuple):
    """A decision about a draft: its state afterwards, or why it was refused."""

    draft: Json
    decision: Desired
    state: str | None
    refused: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the decision as programs get it."""
        names = ("period", "agency", "currency")
        found = [one for one in self.draft["checks"] if one["level"] == Level.WARNING and one["check"] != REFUSED]
        return {
            **{name: self.draft[name] for name in names},
            "decision": self.decision,
            "state": self.state,
            "refused": self.refused,
            "warnings": [one["message"] for one in found],
        }

    def in_words(self) -> str:
        """Return the decision as a line of text."""
        one = self.as_dict()
        result = f"refused: {self.refused}" if self.refused else _DONE.get(str(self.state), str(self.state))
        warned = "".join(f"; warning: {text}" for text in one["warnings"])
        return printable(f"{one['agency']} {one['currency']} {one['period']}: {result}{warned}")


# ---------------------------------------------------------------- the list


def list_drafts(args: argparse.Namespace) -> int:
    """Print the drafts without a statement, with the checks that they do not pass; a folder knows no checks."""
    found = _of_folder(args) if args.folder else _drafts(api(args), args)
    if args.json:
        print(as_json(list(found)))
    else:
        show_drafts(plain_console(), found)
    return 0


def _of_folder(args: argparse.Namespace) -> Iterator[Json]:
    files = Folder(args.folder)
    for period in [args.period] if args.period else sealed_periods(files):
        for one in without_statement(files, period):
            draft = draft_as_dict(period, one)
            if _is_chosen(draft, args):
                yield draft


def _drafts(remote: Remote, args: argparse.Namespace, agency: str | None = None) -> Iterator[Json]:
    """Yield the chosen drafts without a statement, by period and account."""
    chosen = {"period": args.period, "agency": agency or args.agency}
    query = {name: str(value) for name, value in chosen.items() if value}
    return (one for one in remote.pages("/drafts", query) if _is_chosen(one, args))


def _is_chosen(draft: Json, args: argparse.Namespace) -> bool:
    return args.agency in {None, draft["agency"]} and args.currency in {None, draft["currency"]}


def show_drafts(console: Console, drafts: Iterable[Json]) -> None:
    """Print a table of drafts, with a line for each check that one does not pass."""
    figures = (Column(name.removesuffix("_exact"), justify="right") for name in _FIGURES)
    columns: list[str | Column] = ["period", "agency", "currency", *figures, "state", "checks"]
    table = Table(*columns, box=box.SIMPLE, padding=0, title="Drafts", title_justify="left", title_style="")
    number = 0
    for number, one in enumerate(drafts, 1):
        if number > _MOST_ROWS:
            continue
        first, *others = [f"{check['level']}: {check['message']}" for check in one.get("checks", ())] or [""]
        names = (one["period"], printable(one["agency"], _LONGEST_NAME), one["currency"])
        cells = (*names, *(one[name] for name in _FIGURES), one.get("state", _UNKNOWN), printable(first))
        table.add_row(*map(Text, cells))
        for other in others:
            table.add_row(*[""] * (len(columns) - 1), Text(printable(other)))
    if not number:
        console.print("no draft is without a statement")
        return
    print_table(console, table)
    if number > _MOST_ROWS:
        console.print(f"... and {counted(number - _MOST_ROWS, 'more draft')}")


# ---------------------------------------------------------------- decisions


def release(args: argparse.Namespace) -> int:
    """Release the chosen drafts by period and account, and start the release; return 1 if one was refused."""
    remote = _remote(args)
    named = list(args.release)
    drafts = list(_drafts(remote, args))
    if named:
        drafts = [one for one in drafts if one["agency"] in named]
        missing = sorted({*named} - {one["agency"] for one in drafts})
        if missing:
            raise ToolError(f"there is no draft without a statement of {', '.join(missing)}{_of(args)}")
    return _finish(args, [_release(remote, one, args.reason, named=bool(named)) for one in drafts])


def _release(remote: Remote, draft: Json, reason: str | None, *, named: bool) -> Decided:
    """Release a draft; a held one must be named, as somebody has kept it back."""
    held = next((one["message"] for one in draft["checks"] if one["check"] == _HELD), None)
    if held and not named:
        return Decided(draft, Desired.RELEASE, None, f"{held}: name the agency to release it")
    if draft["state"] == DraftState.RELEASING:
        return Decided(draft, Desired.RELEASE, DraftState.RELEASING)
    return _decide(remote, draft, Desired.RELEASE, reason)


def hold(args: argparse.Namespace) -> int:
    """Hold a draft back, for a reason; return 1 if that was refused."""
    remote = _remote(args)
    return _finish(args, [_decide(remote, _only(args, _drafts(remote, args, args.hold)), Desired.HOLD, args.reason)])


def cancel(args: argparse.Namespace) -> int:
    """Cancel a statement, for a reason, and start the release of the document that reverses it."""
    remote = _remote(args)
    query = {"period": str(args.period), "agency": args.cancel}
    current = (one for one in remote.pages("/statements", query) if one["status"] != Status.CANCELLED)
    one = _only(args, (one for one in current if args.currency in {None, one["currency"]}))
    path = _path(one)
    status, draft = remote.send("GET", path)
    if status != HTTPStatus.OK:
        raise ToolError(str(draft.get("detail", draft)))
    return _finish(args, [_decide(remote, draft, Desired.CANCEL, args.reason)])


def _remote(args: argparse.Namespace) -> Remote:
    if args.folder:
        raise ToolError("a decision needs a stack: name it with --stack or --url")
    return api(args)


def _only(args: argparse.Namespace, found: Iterable[Json]) -> Json:
    """Return the only one of an agency's drafts or statements of a period."""
    agency = args.hold or args.cancel
    some = [one for one in found if one["agency"] == agency]
    if not some:
        what = "statement" if args.cancel else "draft without a statement"
        raise ToolError(f"there is no {what} of {agency}{_of(args)}")
    if len(some) > 1:
        currencies = ", ".join(sorted(one["currency"] for one in some))
        raise ToolError(f"{agency} has {currencies} for {args.period}: choose one with --currency")
    return some[0]


def _of(args: argparse.Namespace) -> str:
    return (f" in {args.currency}" if args.currency else "") + (f" for {args.period}" if args.period else "")


def _path(draft: Json) -> str:
    return f"/drafts/{segment(draft['agency'])}/{draft['currency']}/{draft['period']}"


def _decide(remote: Remote, draft: Json, desired: Desired, reason: str | None = None) -> Decided:
    body = {"decision": desired.value, "seen": draft["seen"], **({"reason": reason} if reason else {})}
    status, answer = remote.put(_path(draft), body)
    if status == HTTPStatus.OK:
        return Decided(draft, desired, answer["state"])
    if status != HTTPStatus.CONFLICT:
        raise ToolError(f"PUT {_path(draft)} failed with {status}: {answer.get('detail', answer)}")
    return Decided(draft, desired, None, "; ".join(_reasons(answer)))


def _reasons(answer: Json) -> Sequence[str]:
    """Return why a decision was refused: by the checks that failed, or by what others have decided."""
    checks = [one["expected"] for one in answer.get("errors", ()) if one["problem"] == Level.FAILED]
    return checks or [answer["detail"]]


def _finish(args: argparse.Namespace, decided: Sequence[Decided]) -> int:
    """Print decisions, and start the release if they need one; return 1 if one was refused."""
    if not args.json:
        for one in decided:
            print(one.in_words(), flush=True)
    released: dict[str, Any] = {"releases": [], "documents": 0}
    if any(one.state in _STARTED for one in decided):
        released = _release_now(args)
    if args.json:
        print(as_json({"decided": [one.as_dict() for one in decided], **released}))
    elif not decided:
        print(f"no draft is without a statement{_of(args)}")
    elif released["releases"]:
        numbers = ", ".join(map(str, released["releases"]))
        print(f"release {numbers}: {counted(released['documents'], 'document')}")
    return 1 if any(one.refused for one in decided) else 0


def _release_now(args: argparse.Namespace) -> dict[str, Any]:
    """Run the releases that are due; return their numbers, and that of the documents, both ``None`` if they wait."""
    releases: list[int] = []
    documents = 0
    try:
        while True:
            answer = invoke(args, "Statements", {})
            releases += answer.get("releases", ())
            documents += answer.get("documents", 0)
            if answer["next"] != "run":
                break
    except ToolError as error:
        print(f"the watch releases within 15 minutes, as {printable(error)}", file=sys.stderr)
        return {"releases": None, "documents": None}
    if answer["next"] == "parts":
        print("a large period is made first: the state machine releases afterwards", file=sys.stderr)
    return {"releases": releases, "documents": documents}
