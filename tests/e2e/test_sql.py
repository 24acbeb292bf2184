"""SQL over sealed files: the named queries give the API's figures, and nothing else can be read or written."""

import ast
import io
import json
import os
import re
import shlex
import shutil
import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

from quarterhour_tools.cli import main
from quarterhour_tools.emulator.template import TEMPLATE, Template
from quarterhour_tools.errors import ToolError
from quarterhour_tools.warehouse import command
from quarterhour_tools.warehouse.database import Database, SqlError, opened
from quarterhour_tools.warehouse.results import Result
from quarterhour_tools.warehouse.tables import Declared
from tests.e2e.test_rerate import serving
from tests.support.analysis import RULES, Api, copied, sold
from tests.support.cases import cases
from tests.support.engines import difference, questions, unlike_manifests
from tests.support.events import refund, sale, void
from tests.support.repository import ROOT
from tests.support.requests import post
from tests.support.system import World
from tests.support.system import opened as world_opened
from tests.support.trino import Trino
from tests.support.warehouse import Warehouse

DECLARED: Final = Declared.of(Template.load(TEMPLATE))


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    with sold() as world:
        yield world


@pytest.fixture(scope="module")
def sealed(world: World, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(world, tmp_path_factory.mktemp("sealed"))


@pytest.fixture(scope="module")
def database(sealed: Path) -> Iterator[Database]:
    with opened(sealed, DECLARED, "256MB") as database:
        yield database


def rows_of(database: Database, sql: str) -> list[tuple[Any, ...]]:
    return list(Result(database.run(sql)).rows())


@pytest.mark.slow
def test_every_named_query_gives_the_figures_of_the_api(
    world: World, database: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api = Api(world)
    expected = {
        "totals": api.totals(),
        "periods": api.periods(),
        "top-agencies": api.top_agencies(),
        "agencies-that-sell-less": api.selling_less(),
        "refunds-by-age": api.refunds_by_age(),
        "commission-by-product": api.commission_by_product(),
        "commission-by-charge": api.commission_by_charge(),
        "commission-by-product-and-week": api.commission_by_week(),
        "customers": api.customers(),
        "cohorts": api.cohorts(),
        "rate-card": dry_run(world, tmp_path, capsys),
    }
    assert {name: rows_of(database, query.sql) for name, query in DECLARED.queries.items()} == expected
    assert all(expected.values()), "no query is compared without rows"


def dry_run(world: World, place: Path, capsys: pytest.CaptureFixture[str]) -> list[tuple[Any, ...]]:
    """Return what ``quarterhour rerate --dry-run`` says of the rules of the named query."""
    file = place / "rules.json"
    file.write_text(json.dumps({"valid_from": "2020-01-01T00:00:00Z", "rules": RULES}))
    with serving(world) as url:
        span = ("--from", "2026-01-01", "--to", "2027-01-01")
        assert (
            main(["rerate", "--rate-card", str(file), *span, "--all-agencies", "--dry-run", "--json", "--url", url])
            == 0
        )
    accounts = json.loads(capsys.readouterr().out)["accounts"]
    return [
        (*name.rsplit("#", 1), one["events"], *(Decimal(one[key]) for key in ("commission", "would_be", "difference")))
        for name, one in accounts.items()
    ]


@pytest.mark.slow
def test_every_named_query_gives_the_same_rows_on_trino(
    trino: Trino, sealed: Path, database: Database, tmp_path: Path
) -> None:
    warehouse = Warehouse(trino, "sql", sealed, tmp_path)
    warehouse.load()
    found = {
        one.name: difference(one, Result(database.run(one.sql)).rows(), warehouse.run(one.sql))
        for one in questions(DECLARED)
    }
    assert found.keys() > DECLARED.queries.keys()
    assert not any(found.values()), found
    assert warehouse.differences() == []


def test_the_lines_have_the_sums_of_the_manifests_and_a_difference_is_named(sealed: Path, database: Database) -> None:
    periods = next(one for one in questions(DECLARED) if one.name == "periods")
    rows = rows_of(database, periods.sql)
    assert unlike_manifests(sealed, rows) == ""
    assert difference(periods, rows, rows) == ""
    ((agency, currency, period, events, *figures), *others) = rows
    another = [(agency, currency, period, events + 1, *figures), *others]
    assert f"('{agency}', '{currency}', '{period}')" in unlike_manifests(sealed, another)
    for question in (periods, replace(periods, ordered=False)):
        assert difference(question, rows, another) == f"DuckDB has {rows[0]}, Trino {another[0]}"
        assert difference(question, rows, others).startswith(f"DuckDB has {rows[0]}, Trino")


OUTSIDE: Final = "file system operations are disabled"
ONLY_READ: Final = "sealed files are only read"


@cases(
    ("sql", "problem"),
    [
        ("SELECT * FROM '/etc/passwd'", "does not exist"),
        ("SELECT * FROM read_text('/etc/passwd')", OUTSIDE),
        ("SELECT * FROM read_text('{sealed}/../secret')", OUTSIDE),
        ("SELECT * FROM read_csv('{sealed}/../secret')", OUTSIDE),
        ("SELECT * FROM glob('/etc/*')", OUTSIDE),
        ("SELECT * FROM read_csv('https://example.com/sales.csv')", OUTSIDE),
        ("SELECT * FROM enable_logging(storage := 'file', storage_path := '{sealed}/../log')", "locked"),
        ("SELECT * FROM query('COPY (SELECT 1) TO ''{sealed}/ledger/x''')", "Expected a single SELECT statement"),
        ("WITH x AS (COPY (SELECT 1) TO '{sealed}/ledger/x') SELECT 1", f"COPY is not possible, because {ONLY_READ}"),
        ("SELECT * FROM (WITH x AS (COPY (SELECT 1) TO '{sealed}/ledger/x') SELECT 1)", ONLY_READ),
        ("WITH x AS (INSERT INTO lines SELECT * FROM lines RETURNING *) SELECT 1", ONLY_READ),
        ("SELECT 1) TO '{sealed}/x' (FORMAT csv); COPY (SELECT 1", "syntax error"),
        ("COPY (SELECT 1) TO '{sealed}/ledger/x'", ONLY_READ),
        ("EXPLAIN ANALYZE COPY (SELECT 1) TO '{sealed}/ledger/x'", ONLY_READ),
        ("CREATE TABLE kept (figure INTEGER)", ONLY_READ),
        ("DROP VIEW lines", ONLY_READ),
        ("ATTACH '{sealed}/ledger/x' AS other", ONLY_READ),
        ("INSTALL httpfs", ONLY_READ),
        ("LOAD httpfs", ONLY_READ),
        ("SET enable_external_access = true", ONLY_READ),
        ("PRAGMA temp_directory = '{sealed}'", ONLY_READ),
        ("CALL enable_profiling()", ONLY_READ),
        ("EXPORT DATABASE '{sealed}/ledger/x'", ONLY_READ),
        (
            "PIVOT lines ON currency USING sum(amount)",
            "PIVOT creates a type for values that it must look up: name them",
        ),
        ("SELECT 1; SELECT 2", "expected one query, found 2"),
        ("-- nothing", "expected one query, found none"),
        ("SELECT * FROM local_secret", "does not exist"),
        ("SELECT amounts FROM lines", 'Candidate bindings: "amount"'),
        ("SELECT CAST('x' AS DECIMAL(38, 18))", "x"),
    ],
)
def test_a_query_reads_nothing_but_the_tables_and_changes_nothing(
    sql: str, problem: str, sealed: Path, database: Database
) -> None:
    local_secret = [("what a query must not see",)]
    (sealed.parent / "secret").write_text(local_secret[0][0])
    before = sorted(sealed.rglob("*"))
    with pytest.raises(SqlError) as error:
        rows_of(database, sql.format(sealed=sealed))
    assert problem in str(error.value)
    assert "\n" not in str(error.value)
    assert (sorted(sealed.rglob("*")), (sealed.parent / "log").exists()) == (before, False)
    assert rows_of(database, "SELECT count(*) FROM lines") == [(16,)], "the next query runs"


def test_links_and_files_among_the_sealed_ones_are_refused(sealed: Path, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    shutil.copytree(sealed, linked)
    (linked / "ledger" / "dt=2026-10-01").mkdir()
    (linked / "ledger" / "dt=2026-10-01" / "lines.csv").symlink_to("/etc/passwd")
    with pytest.raises(ToolError, match="a link to a file outside the folder"), opened(linked, DECLARED, "256MB"):
        pass
    inside = sealed / "ledger" / "mine.parquet"
    with pytest.raises(ToolError, match="among the sealed files"), opened(sealed, DECLARED, "256MB", inside):
        pass


@pytest.mark.parametrize("memory", ["much", "-1", "-1GB", "0GB", "none", "80%", "512", ""])
def test_the_bound_of_memory_is_a_size_above_0(sealed: Path, memory: str) -> None:
    with pytest.raises(ToolError, match="expected a size such as 512MB"), opened(sealed, DECLARED, memory):
        pass


def test_each_table_reads_its_own_files_though_others_lie_beside_them(sealed: Path, database: Database) -> None:
    summaries, manifests = (list(sealed.rglob(name)) for name in ("summary.csv", "manifest.json"))
    assert len(summaries) == len(manifests) == len(list(sealed.rglob("report.html"))) > 0
    for name, files in (("sealed_summaries", summaries), ("sealed_manifests", manifests)):
        *_, paths = zip(*rows_of(database, f"SELECT * FROM {name}"), strict=True)  # noqa: S608 - of this test
        assert set(paths) <= set(map(str, files)), "an empty one has no rows"
    for table in DECLARED.tables:
        rows_of(database, f"SELECT * FROM {table.name}")  # noqa: S608 - of the template


def test_a_pivot_that_names_its_values_is_possible(database: Database) -> None:
    pivot = "PIVOT lines ON currency IN ('GBP') USING count(*) GROUP BY agency ORDER BY agency"
    assert rows_of(database, f'SELECT sum("GBP") > 0 FROM ({pivot})') == [(True,)]  # noqa: S608 - of this test


def test_a_query_of_bytes_that_are_no_utf_8_is_refused(sealed: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", str(sealed), "-c", os.fsdecode(b"SELECT '\xff'")]) == 2
    assert "the query of -c is not text in UTF-8" in capsys.readouterr().err


def test_refunds_that_were_taken_back_are_none_of_the_refunds_and_count_with_their_sale(tmp_path: Path) -> None:
    with world_opened({"commission_rate": "0.10"}) as world:
        post(world, [sale("s1", "100.00"), refund("r1", "-100.00", "s1"), refund("r2", "-5.00", None)])
        back = [void("b1", "r1", reason="returned"), void("b2", "r2", reason="returned")]
        post(world, [*back, refund("r3", "-40.00", "s1")])
        world.pass_time(hours=1)
        world.report()
        folder = copied(world, tmp_path)
    with opened(folder, DECLARED, "256MB") as database:
        by_age = rows_of(database, DECLARED.query("refunds-by-age").sql)
        assert [row[:4] for row in by_age] == [("GBP", "00 to 07 days", 1, Decimal("-40.00"))]
        ((*_, commission, would_be, difference),) = rows_of(database, DECLARED.query("rate-card").sql)
        assert (commission, would_be, difference) == (6, Decimal("7.2"), Decimal("1.2"))


def test_charges_are_rows_by_name_and_a_run_sums_them_up(tmp_path: Path) -> None:
    charges = [
        {"name": "payment fee", "percent": "1", "fixed": "0.25"},
        {"name": "commission", "tiers": {"per": "month", "mode": "volume", "steps": [{"from": "0", "percent": "5"}]}},
    ]
    with world_opened({"commission_rate": "0.10"}) as world:
        rules = [{"currency": "GBP", "charges": charges}]
        world.write("/documents/rate-card:42", {"valid_from": "2026-01-01T00:00:00Z", "rules": rules})
        post(
            world,
            [sale("s1", "100.00"), refund("r1", "-40.00", "s1"), sale("s2", "10", agency="7", commission_rate="0.15")],
        )
        world.pass_time(hours=1)
        world.report()
        folder = copied(world, tmp_path)
    with opened(folder, DECLARED, "256MB") as database:
        assert rows_of(database, DECLARED.query("commission-by-charge").sql) == [
            ("GBP", "2026-10", "commission", Decimal("1.5"), 60),
            ("GBP", "2026-10", "payment fee", Decimal("0.75"), None),
        ]
        assert rows_of(database, "SELECT agency, charges FROM summaries ORDER BY agency") == [
            ("42", "commission:0.00000000;payment fee:0.75000000;commission:60.00000000@month/account/volume/0=5"),
            ("7", None),
        ]


@pytest.mark.slow
def test_rows_are_streamed_and_larger_sorts_use_the_disk(sealed: Path) -> None:
    with opened(sealed, DECLARED, "64MB") as database:
        first = next(Result(database.run("SELECT * FROM range(1000000000000) AS numbers (number)")).rows())
        assert first == (0,)
        by_hash = "SELECT number FROM range(2000000) AS numbers (number) ORDER BY hash(number), number OFFSET 1"
        assert rows_of(database, f"SELECT count(*) FROM ({by_hash})") == [(1_999_999,)]  # noqa: S608
        with pytest.raises(SqlError, match="raise --memory"):
            rows_of(database, "SELECT string_agg(number) FROM range(20000000) AS numbers (number)")


def test_ctrl_c_ends_a_query_and_the_next_one_runs(database: Database) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main_thread = threading.main_thread().ident
    assert main_thread is not None
    timer = threading.Timer(0.5, signal.pthread_kill, [main_thread, signal.SIGINT])
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        rows_of(
            database, "SELECT sum(a.x * b.y) FROM range(1000000000) AS a (x), range(1000) AS b (y) WHERE x % 7 = y % 5"
        )
    timer.join()
    assert rows_of(database, "SELECT 1") == [(1,)]


def test_decimals_are_exact_in_every_format(sealed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def run(*arguments: str) -> str:
        assert main(["sql", str(sealed), *arguments]) == 0
        return capsys.readouterr().out

    sql = (
        "SELECT currency, product, sum(amount) AS net, count(*) AS events, max(recorded_on) AS last FROM lines "
        "WHERE product IN ('=ATLAS', 'TEA') GROUP BY currency, product ORDER BY currency, product"
    )
    assert run("-c", sql, "--format", "csv").splitlines() == [
        "currency,product,net,events,last",
        "GBP,'=ATLAS,40.005,1,2026-09-30",
        "GBP,TEA,92.21,5,2026-10-29",
        "JPY,TEA,2100,2,2026-10-29",
    ]
    assert json.loads(run("-c", sql, "--format", "json"))[1:] == [
        {"currency": "GBP", "product": "TEA", "net": "92.21", "events": 5, "last": "2026-10-29"},
        {"currency": "JPY", "product": "TEA", "net": "2100", "events": 2, "last": "2026-10-29"},
    ]
    assert "│ GBP      │ TEA     │  92.21 │      5 │ 2026-10-29 │" in run("-c", sql)
    figure = "CAST('99999999999999999999.000000000000000001' AS decimal(38, 18))"
    exact = f"SELECT {figure} AS figure, 1.50 AS less, NULL AS none"
    assert json.loads(run("-c", exact, "--format", "json")) == [
        {"figure": "99999999999999999999.000000000000000001", "less": "1.5", "none": None}
    ]
    assert run("-c", "SELECT 1 WHERE false", "--format", "json") == "[]\n"
    assert json.loads(run("-c", "SELECT 1 / 0 AS ratio", "--format", "json"), parse_constant=pytest.fail) == [
        {"ratio": None}
    ]
    assert main(["sql", str(sealed), "-c", "SELECT 1.5 AS net, 2.5 AS net", "--format", "json"]) == 2
    assert "two columns are named net" in capsys.readouterr().err
    file = tmp_path / "it's.parquet"
    for _ in range(2):  # the second time, the file exists
        assert run("--query", "totals", "--format", "parquet", "--out", str(file)) == f"4 rows written to {file}\n"
    written = duckdb.connect().execute("SELECT agency, currency, commission FROM read_parquet(?)", [str(file)])
    assert written.fetchall()[0] == ("42", "GBP", Decimal("17.56575"))
    assert run("-c", "SELECT * FROM range(1200)").splitlines()[-1].startswith("... and more rows than the 1,000")


def test_charts_are_drawn_for_each_currency(sealed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sql", str(sealed), "--query", "top-agencies", "--chart", "--figure", "commission"]) == 0
    drawn = capsys.readouterr().out.splitlines()
    assert drawn[0] == "commission, GBP"
    assert "commission, JPY" in drawn
    assert drawn[1].startswith("  42")
    assert f"  {'█' * 50} " in drawn[1]
    page = tmp_path / "page.html"
    assert main(["sql", str(sealed), "--query", "refunds-by-age", "--chart", "--out", str(page)]) == 0
    text = page.read_text("utf-8")
    assert text.count("<svg") == 1
    assert "<h1>refunds-by-age</h1>" in text
    assert '<td class="n">-30.00</td>' in text
    for arguments, problem in (
        (["-c", "SELECT 'x' AS x", "--chart"], "no column of numbers to draw"),
        (["-c", "SELECT 1 AS x", "--chart", "--figure", "y"], "'y' is no column of numbers of the query: it has x"),
    ):
        assert main(["sql", str(sealed), *arguments]) == 2
        assert problem in capsys.readouterr().err


def test_the_prompt_answers_queries_and_commands(
    sealed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    query = "SELECT count(*)\n  AS number FROM lines;"
    commands = (
        ".queries",
        ".tables",
        "",
        query,
        "SELECT nothing;",
        ".run other",
        ".run periods",
        ".show totals",
        ".what",
    )
    typed = "\n".join((*commands, ".quit", ""))
    monkeypatch.setattr("sys.stdin", io.StringIO(typed))
    assert main(["sql", str(sealed)]) == 0
    shown = capsys.readouterr()
    for part in (
        "totals  ",
        "│ statement_lines    │",
        "│     16 │",
        "│ 2026-10 │",
        "GROUP BY agency, currency\n",
        ".quit",
    ):
        assert part in shown.out
    assert [line.partition(":")[0] for line in shown.err.splitlines()] == ["quarterhour"] * 2
    assert "there is no query 'other': expected one of totals, periods" in shown.err


def test_a_running_stacks_files_are_copied_once(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "sealed_files", lambda _: world.stack.bucket)
    copy = ["sql", "--stack", "x", "--copy", str(tmp_path), "--query", "totals"]
    with monkeypatch.context() as interrupted:
        interrupted.setattr(Path, "replace", no_space)
        assert main(copy) == 2
    assert main(["sql", str(tmp_path), "-c", "SELECT count(*) AS n FROM lines", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"n": 0}], "no half of a file is read"
    counts = []
    for _ in range(2):
        assert main([*copy, "--format", "csv"]) == 0
        shown = capsys.readouterr()
        counts.append(int(shown.err.split()[0].replace(",", "")))
        assert shown.out.splitlines()[1].startswith("42,GBP,")
    assert counts[0] > 0
    assert counts[1] == 0


def no_space(*_: object) -> None:
    raise OSError("no space left on device")


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--query", "other"], "there is no query 'other'"),
        (["-f", "none.sql"], "none.sql"),
        (["--copy", "x"], "--copy is for --stack and --url"),
        (["-c", "SELECT 1", "--figure", "x"], "add --chart"),
        (["-c", "SELECT 1", "--format", "parquet"], "name a file with --out"),
        (["-c", "SELECT 1", "--format", "csv", "--chart"], "leave out --format"),
        (["--format", "csv"], "add -c, -f or --query"),
    ],
)
def test_arguments_that_do_not_go_together_are_named(
    arguments: list[str], problem: str, sealed: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", str(sealed), *arguments]) == 2
    assert problem in capsys.readouterr().err


def test_the_sql_of_a_named_query_can_be_changed(
    sealed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["sql", "--list"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(DECLARED.queries)
    assert main(["sql", "--show", "rate-card"]) == 0
    file = tmp_path / "mine.sql"
    file.write_text(capsys.readouterr().out.replace("'12'", "'20'"))
    assert main(["sql", str(sealed), "-f", str(file), "--format", "csv"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "agency,currency,events,commission,would_be,difference"


BLOCK: Final = re.compile(r"^```(sh)?\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PAGE: Final = (ROOT / "docs" / "sql.md").read_text("utf-8")
NOTEBOOK: Final = Path("examples", "warehouse", "charts.ipynb")


@pytest.mark.slow
def test_the_page_shows_what_its_commands_print_and_the_notebook_draws_four_charts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    printed, compared = "", 0
    for shell, text in BLOCK.findall(PAGE):
        if not shell:
            assert [line.rstrip() for line in printed.splitlines()] == text.splitlines()
            compared += 1
            continue
        for line in text.splitlines():
            command, _, file = line.partition(" > ")
            assert main(shlex.split(command)[1:]) == 0, line
            printed = capsys.readouterr().out
            if file:
                Path(file).write_text(printed, "utf-8")
    assert compared == 3
    assert drawn() == 4


def drawn() -> int:
    """Run the cells of the notebook; return how many of them show a chart."""
    names: dict[str, Any] = {}
    charts = 0
    for cell in json.loads(NOTEBOOK.read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            body = ast.parse("".join(cell["source"])).body
            last = body.pop()
            shown = ast.Expression(last.value) if isinstance(last, ast.Expr) else None
            run = ast.Module(body if shown else [*body, last], [])
            exec(compile(run, str(NOTEBOOK), "exec"), names)  # noqa: S102 - our own notebook
            if shown:
                charts += "<svg" in eval(compile(shown, str(NOTEBOOK), "eval"), names)._repr_html_()  # noqa: S307
    names["sealed"].close()
    return charts


def test_every_named_query_is_in_the_table_of_the_page() -> None:
    table = PAGE.partition("## Named queries")[2]
    assert re.findall(r"^\| `([a-z-]+)` \|", table, re.MULTILINE) == list(DECLARED.queries)
