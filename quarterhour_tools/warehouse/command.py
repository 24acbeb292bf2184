"""`quarterhour sql`: runs SQL over sealed files, the tables and named queries of the warehouse on one machine."""

import argparse
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from quarterhour.model.texts import one_form
from quarterhour_tools.bucket import Folder
from quarterhour_tools.emulator.template import TEMPLATE, Template
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import counted
from quarterhour_tools.target.deployment import configure_target, sealed_files
from quarterhour_tools.warehouse.copies import copy_sealed
from quarterhour_tools.warehouse.tables import Declared

if TYPE_CHECKING:
    from quarterhour_tools.warehouse.database import Database

NAME: Final = "sql"
DESCRIPTION: Final = (
    "Run SQL over sealed files, with the tables, views and named queries of the warehouse. Decimals are exact. "
    "Nothing but the sealed files is read, and nothing is changed. Without a query, a prompt reads queries until "
    "Ctrl-D; Ctrl-C ends a query."
)
_LONE: Final = re.compile("[\ud800-\udfff]")
_TABLE: Final = "table"
_PARQUET: Final = "parquet"
_FORMATS: Final = (_TABLE, "csv", "json", _PARQUET)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour sql``."""
    target = configure_target(parser)
    target.add_argument(
        "folder",
        nargs="?",
        type=Path,
        metavar="DIR",
        help="the folder of replay --out or of demo --out, or a copy of the S3 bucket",
    )
    target.add_argument("--list", action="store_true", help="list the named queries")
    target.add_argument("--show", metavar="NAME", help="print the SQL of a named query, to change it")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("-c", dest="sql", metavar="SQL", help="the query")
    what.add_argument("-f", dest="file", type=Path, metavar="FILE", help="a file with the query; - for standard input")
    what.add_argument("--query", metavar="NAME", help="a named query (--list)")
    parser.add_argument("--format", choices=_FORMATS, default=_TABLE, help="the format of the rows (default table)")
    parser.add_argument(
        "--chart", action="store_true", help="draw bars in the terminal; with --out, write a page of HTML"
    )
    parser.add_argument(
        "--figure", metavar="COLUMN", help="with --chart, the column to draw (default: the first with amounts)"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="the file to write; parquet needs one")
    parser.add_argument(
        "--copy",
        type=Path,
        metavar="DIR",
        help="with --stack or --url, keep the copies of the sealed files; the next run only fetches what is new",
    )
    parser.add_argument(
        "--memory", default="1GB", metavar="SIZE", help="the most memory of a query (default 1GB); the rest is on disk"
    )


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    declared = Declared.of(Template.load(TEMPLATE))
    if args.list:
        print(declared.listed())
        return 0
    if args.show:
        print(declared.query(args.show).sql, end="")
        return 0
    _check(args)
    sql = _query(args, declared)
    # DuckDB takes a third of a second to load, which no other command should wait for.
    from quarterhour_tools.warehouse.database import opened  # noqa: PLC0415
    from quarterhour_tools.warehouse.prompt import Prompt  # noqa: PLC0415

    output = args.out.resolve() if args.out else None
    with _files(args, declared) as folder, opened(folder, declared, args.memory, output) as database:
        if sql is None:
            Prompt(database, declared).run()
        else:
            _answer(args, database, sql)
    return 0


def _check(args: argparse.Namespace) -> None:
    """Raise ``ToolError`` for arguments that do not go together."""
    if args.copy and args.folder:
        raise ToolError("--copy is for --stack and --url: the files of a folder are read where they are")
    if args.figure and not args.chart:
        raise ToolError("--figure names the column that --chart draws: add --chart")
    if args.format == _PARQUET and not args.out:
        raise ToolError("parquet is not for a terminal: name a file with --out")
    if args.chart and args.format != _TABLE:
        raise ToolError("--chart draws the rows: leave out --format")
    asks = args.sql or args.file or args.query
    if not asks and (args.out or args.chart or args.format != _TABLE):
        raise ToolError("--out, --chart and --format are for one query: add -c, -f or --query")


def _query(args: argparse.Namespace, declared: Declared) -> str | None:
    """Return the SQL that the arguments name; ``None`` for the prompt."""
    if args.query:
        return declared.query(args.query).sql
    if args.file:
        try:
            return one_form(sys.stdin.read() if str(args.file) == "-" else str(args.file.read_text("utf-8")))
        except ValueError as error:
            raise ToolError(f"{args.file} is not text in UTF-8: {error}") from error
    sql: str | None = args.sql
    if sql is not None and _LONE.search(sql):  # how Python holds bytes of an argument that are no UTF-8
        raise ToolError("the query of -c is not text in UTF-8")
    return sql


@contextmanager
def _files(args: argparse.Namespace, declared: Declared) -> Iterator[Path]:
    """Return the folder with the sealed files, copied from a bucket if they are in one."""
    if args.folder:
        Folder(args.folder)
        yield args.folder
        return
    with ExitStack() as context:
        folder = args.copy or Path(context.enter_context(TemporaryDirectory(prefix="quarterhour-sealed-")))
        folder.mkdir(parents=True, exist_ok=True)
        copied = copy_sealed(sealed_files(args), declared.tables, folder)
        print(f"{counted(copied, 'file')} copied to {folder}", file=sys.stderr)
        yield folder


def _answer(args: argparse.Namespace, database: "Database", sql: str) -> None:
    """Run the query of the arguments, and write its rows."""
    from quarterhour_tools.warehouse.chart import as_lines, as_page, charts_of  # noqa: PLC0415 - they load DuckDB
    from quarterhour_tools.warehouse.results import WRITERS, Result  # noqa: PLC0415

    if args.format == _PARQUET:
        print(f"{counted(database.write_parquet(sql, args.out.resolve()), 'row')} written to {args.out}")
        return
    result = Result(database.run(sql))
    if args.chart:
        charts = charts_of(result, args.figure)
        if args.out:
            args.out.write_bytes(as_page(args.query or "Query", charts))
            print(f"{args.out} written")
        else:
            print("\n".join(as_lines(charts)))
    elif args.out:
        with args.out.open("w", encoding="utf-8", newline="") as file:
            WRITERS[args.format](result, file)
        print(f"{args.out} written")
    else:
        WRITERS[args.format](result, sys.stdout)
