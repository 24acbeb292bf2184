"""The check of words: it finds planted faults, says where and what to say instead, and leaves stored names alone."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / ".ci" / "words.py"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = spec_from_file_location("words", SCRIPT)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Check:
    """The check of one file of a folder."""

    def __init__(self, script: ModuleType, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.script, self.folder, self.capsys = script, folder, capsys

    def __call__(self, text: str, name: str = "module.py") -> list[str]:
        """Return the findings, each as ``line: message``."""
        path = self.folder / name
        path.write_text(text, "utf-8")
        code = self.script.main([str(path)])
        found = [line.removeprefix(f"{path}:") for line in self.capsys.readouterr().out.splitlines()]
        assert code == bool(found)
        return found[:-1]


@pytest.fixture
def check(script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    return Check(script, tmp_path, capsys)


@pytest.mark.parametrize(
    "code",
    [
        "def f(told): ...",
        "told = 1",
        "def told(): ...",
        "class ToldBody: ...",
        "class Body:\n    told: str",
        "def f(self):\n    self.last_told = 1",
        "import json as told",
        "try: ...\nexcept ValueError as told: ...",
        "match 1:\n    case told: ...",
        "match [1]:\n    case [*told]: ...",
    ],
)
def test_a_forbidden_word_in_a_name_is_found_where_it_is_defined(check: Check, code: str) -> None:
    [finding] = check(code)
    assert "told" in finding.lower()
    assert "say the content" in finding


def test_a_finding_names_file_line_and_what_to_say_instead(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Page\n\nThe table\nis mended.\n", "utf-8")
    assert script.main([str(page)]) == 1
    assert capsys.readouterr().out.splitlines()[0] == f'{page}:4: "mend": say repair, reconcile, fix'


def test_a_name_is_reported_once_and_not_where_it_is_used(check: Check) -> None:
    assert len(check("asked = 1\nasked = 2\nprint(asked, end=asked)\n")) == 1
    assert check("from elsewhere import asked\nelsewhere.f(told=asked)\n") == []


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("card", True),
        ("read_cards", True),
        ("ReadCards", True),
        ("rate_card", False),
        ("RateCards", False),
        ("discard", False),
        ("quarter", True),
        ("quarter_hour", False),
        ("QuarterHour", False),
        ("outstanding", False),
        ("persistent", False),
    ],
)
def test_a_word_is_judged_with_the_word_beside_it(check: Check, name: str, *, found: bool) -> None:
    assert bool(check(f"{name} = 1\n")) is found


def test_docstrings_and_comments_are_searched(check: Check) -> None:
    assert check('"""One.\n\nWhoever calls\nit."""\n')[0].startswith("3: ")
    assert check('def f():\n    """Persist it."""\n')[0].startswith("2: ")
    assert check("x = 1\n# one\n# kept for the rate\n# card, settled\n") == [
        '4: "settl": say final, write projections, reconcile'
    ]
    assert check('x = "told"\n') == []


def test_comments_of_scripts_are_searched(check: Check) -> None:
    assert check("/**\n * One.\n *\n * Whoever calls\n * it. */\n", "module.js")[0].startswith("4: ")
    assert check('const told = "told";\nconst page = "https://told"; // It is told.\n', "module.js")[0].startswith(
        "2: "
    )
    assert check("f();\n// kept for the rate\n// card, settled\n", "module.js")[0].startswith("3: ")
    assert check('/** The rate\n * card. */\nconst told = "/told/*";\n', "module.js") == []


def test_the_comments_descriptions_and_names_of_a_template_are_searched(check: Check) -> None:
    assert check("A: 1\n# It is kept for the rate\n# card, settled.\n", "template.yaml")[0].startswith('3: "settl"')
    assert check("A:\n  Description: >-\n    The rate of a\n    closed bucket.\n", "template.yaml")[0].startswith("4: ")
    assert check("Resources:\n  CardTable: 1\n", "template.yaml") == ['2: "Card": say rate card']
    assert check("Resources:\n  # A rate\n  # card.\n  ReportBucket: 1\n", "template.yaml") == []


@pytest.mark.parametrize("name", ["BUCKET_END", "BUCKET_STARTS", "each_bucket", "FOUR_BUCKETS", "bucket_totals"])
def test_bucket_is_a_word_for_s3_alone(check: Check, name: str) -> None:
    [finding] = check(f"{name} = 1\n")
    assert finding.endswith(": say quarter-hour; bucket, for S3 only")
    assert check("each_s3_bucket = 1\n") == []


def test_a_module_s_own_name_is_searched(check: Check) -> None:
    [finding] = check("", "protocol.py")
    assert finding.startswith('1: module protocol: "protocol"')
    assert check("", "http.py") == []


def test_a_term_is_found_over_the_end_of_a_line_and_in_the_cells_of_a_table(check: Check) -> None:
    assert check("| what | who |\n|---|---|\n| told | a |\n", "page.md")[0].startswith("3: ")
    assert check("a quarter-\nhour, a rate\ncard, a quarter\nof an hour\n", "page.md") == []


def test_a_sentence_of_41_words_is_found_and_one_of_40_is_not(check: Check) -> None:
    sentence = "One " + "more " * 39
    assert check(sentence.strip() + ".\n", "page.md") == []
    assert check(f"Short.\nAnd short.\n{sentence}word.\n", "page.md") == ["3: sentence of 41 words: at most 40"]


def test_sentences_end_at_headings_items_and_cells(check: Check) -> None:
    half = "word " * 30
    assert check(f"# {half}\n{half}\n\n- {half}\n- {half}\n\n| {half} | {half} |\n", "page.md") == []
    assert len(check(f"- {half}\n  {half}\n", "page.md")) == 1


def test_code_is_one_word_and_a_link_s_address_none(check: Check) -> None:
    assert check("word " * 38 + "`a b c d` [one](two-three.md) \n", "page.md") == []


def test_fenced_examples_are_not_searched(check: Check) -> None:
    assert check(f"```text\ntold {'word ' * 50}\n```\n", "page.md") == []


def test_stored_names_stay(check: Check) -> None:
    assert check("The key `QUARTER#202610230130#03`, the file `quarter=0130/lines.csv.gz`.\n", "page.md") == []
    assert check("The setting `acceptance_days`.\n", "page.md") == []
    assert check("The keys `QUARTER_HOUR` and `wanted`.\n", "page.md") != []


def test_the_changelog_quotes_old_words_in_code_and_its_older_sections_are_history(check: Check) -> None:
    log = "# Changelog\n\n## 0.2.0\n\nNow `mended` is gone.\n\n## 0.1.0\n\nIt was mended.\n"
    assert check(log, "CHANGELOG.md") == []
    assert check(log.replace("gone", "mended"), "CHANGELOG.md") == ['5: "mend": say repair, reconcile, fix']


@pytest.mark.parametrize("place", ["released/0.1.0/page.md", "vendor/library.js"])
def test_files_of_a_release_and_of_others_are_not_searched(script: ModuleType, tmp_path: Path, place: str) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True)
    file.write_text("// told\n", "utf-8")
    assert script.main([str(tmp_path)]) == 0
    assert script.main([str(file.rename(tmp_path / file.name))]) == 1


def test_the_docstring_of_a_constant_is_checked(check: Check) -> None:
    [finding] = check('LIMIT = 1\n"""The wish of the owner."""\n')
    assert "wish" in finding


def test_a_path_that_does_not_exist_is_an_error(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main([str(tmp_path / "none.md")]) == 2
    assert "none.md: does not exist" in capsys.readouterr().err
