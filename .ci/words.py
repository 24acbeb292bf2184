"""Finds words that docs/words.md replaces, and sentences that are too long: ``words.py [PATH...]``.

Names, docstrings and comments of Python files are searched, comments of JavaScript modules, YAML and pages. Each
finding is printed with its file and line, and what to say instead; the exit code is 1 if there is one. Without paths,
the whole project is searched.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).resolve().parents[1]
WORDS: Final = ROOT / "docs" / "words.md"
SEARCHED: Final = (
    *(".ci", "layers", "functions", "quarterhour_tools", "clients", "benchmarks", "tests", "docs", "*.md", "*.yaml"),
)
SKIPPED: Final = frozenset({"released", "vendor"})  # what an earlier version or somebody else has written
QUOTING: Final = ("CHANGELOG.md", "words.md")  # pages that name the old words in `code`
LONGEST: Final = 40  # words of a sentence
COLUMNS: Final = 5  # of the table of terms: say, not, where, pattern, because

FENCE: Final = re.compile(r"\s*(```|~~~)")
ROW: Final = re.compile(r"\s*\|(.*)\|\s*$")
BAR: Final = re.compile(r"(?<!\\)\|")
OPENING: Final = re.compile(r"\s*(#+|[-*+]|\d+\.)\s+")  # of a heading or an item of a list
CODE: Final = re.compile(r"(`+)(.+?)\1", re.DOTALL)
LINK_TARGET: Final = re.compile(r"\]\([^)\s]*\)")
SCRIPT_BLOCK: Final = re.compile(r"^[ \t]*/\*+(.*?)\*/", re.DOTALL | re.MULTILINE)
SCRIPT_LINE: Final = re.compile(r"(?:^|\s)// (.*)")
TEMPLATE_COMMENT: Final = re.compile(r"^[ \t]*# ?", re.MULTILINE)
SENTENCE_END: Final = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(\[*_]*[A-Z0-9])")
WORD: Final = re.compile(r"\S*\w\S*")


class Term(NamedTuple):
    """A pattern that no word of these places may match, and what to say instead."""

    pattern: re.Pattern[str]
    places: frozenset[str]  # names, files, text
    say: str


class Vocabulary(NamedTuple):
    """What docs/words.md holds for programs."""

    terms: tuple[Term, ...]
    stays: tuple[str, ...]  # stored names, as they are written

    def found(self, place: str, text: str) -> Iterator[tuple[int, str]]:
        """Yield how many lines down in ``text`` each forbidden word is, and a message about it."""
        for name in self.stays:
            text = text.replace(name, "x")
        plain = words(text)
        for term in self.terms:
            if place in term.places:
                for match in term.pattern.finditer(plain):
                    yield plain.count("\n", 0, match.start()), f'"{match[0]}": say {term.say}'


class Passage(NamedTuple):
    """Text that belongs together, such as a paragraph or a table's cell, with the number of its first line."""

    line: int
    text: str


class Finding(NamedTuple):
    """A line, and what is wrong there."""

    line: int
    message: str


def words(text: str) -> str:
    """Return text or a name as words with single blanks; the ends of lines stay."""
    text = LINK_TARGET.sub("]", text)
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", text)
    text = re.sub(r"[ \t_-]+", " ", text)
    return re.sub(r" ?\n ?", "\n", text)


def cells(row: str) -> list[str]:
    """Return the cells of a table's row, and nothing for another line."""
    match = ROW.match(row)
    return [cell.strip().replace("\\|", "|") for cell in BAR.split(match[1])] if match else []


def vocabulary(page: str) -> Vocabulary:
    """Return what docs/words.md says: the table of its section *Terms*, and that of *Words that stay*."""
    _, terms, stays = re.split(r"^## (?:Terms|Words that stay)$", page, flags=re.MULTILINE)
    return Vocabulary(
        tuple(
            Term(re.compile(pattern.replace(" ", r"\s"), re.IGNORECASE), frozenset(places.split(", ")), say)
            for say, _, places, patterns, _ in (row for row in map(cells, terms.splitlines()) if len(row) == COLUMNS)
            for _, pattern in CODE.findall(patterns)
        ),
        tuple(name.strip() for row in map(cells, stays.splitlines()) if row for _, name in CODE.findall(row[0])),
    )


def passages(lines: Iterable[tuple[int, str]]) -> Iterator[Passage]:
    """Yield the paragraphs, headings, list items and table cells of Markdown, without fenced examples."""
    fenced = False
    current: list[tuple[int, str]] = []

    def ended() -> Iterator[Passage]:
        if current:
            yield Passage(current[0][0], "\n".join(text for _, text in current))
            current.clear()

    for number, line in lines:
        opening = OPENING.match(line)
        row = cells(line)
        if FENCE.match(line) or fenced or row or opening or not line.strip():
            yield from ended()
        if FENCE.match(line):
            fenced = not fenced
        elif row and not fenced:
            yield from (Passage(number, cell) for cell in row)
        elif line.strip() and not fenced:
            current.append((number, line[opening.end() :] if opening else line.strip(" >")))
            if line.startswith("#"):
                yield from ended()
    yield from ended()


def numbered(text: str, first: int = 1) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers."""
    return enumerate(text.splitlines(), first)


def overlong(passage: Passage) -> Iterator[Finding]:
    """Yield the sentences of more words than a page may have in one; `code` is one word."""
    text = LINK_TARGET.sub("]", CODE.sub("Code", passage.text))
    start = 0
    for end in [*(match.end() for match in SENTENCE_END.finditer(text)), len(text)]:
        count = len(WORD.findall(text[start:end]))
        if count > LONGEST:
            line = passage.line + text.count("\n", 0, start)
            yield Finding(line, f"sentence of {count} words: at most {LONGEST}")
        start = end


def in_page(path: Path, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Yield the findings of a page; of a changelog, those of its newest section."""
    text = path.read_text("utf-8")
    if path.name == "CHANGELOG.md":
        text = "\n## ".join(text.split("\n## ")[:2])
    for passage in passages(numbered(text)):
        yield from overlong(passage)
        searched = passage.text
        if path.name in QUOTING:
            searched = CODE.sub(lambda code: "x" + "\n" * code[0].count("\n"), searched)
        for below, message in vocabulary.found("text", searched):
            yield Finding(passage.line + below, message)


def defined(node: ast.AST) -> str | None:
    """Return the name that a node gives to something, if it gives one."""
    match node:
        case (
            ast.ClassDef(name=str(name))
            | ast.FunctionDef(name=str(name))
            | ast.AsyncFunctionDef(name=str(name))
            | ast.ExceptHandler(name=str(name))
            | ast.MatchAs(name=str(name))
            | ast.MatchStar(name=str(name))
            | ast.alias(asname=str(name))
            | ast.arg(arg=str(name))
            | ast.Name(id=str(name), ctx=ast.Store())
            | ast.Attribute(attr=str(name), ctx=ast.Store())
        ):
            return name
    return None


def docstrings(tree: ast.AST) -> Iterator[Passage]:
    """Yield the docstrings of a module, its classes, functions, constants and fields."""
    for node in ast.walk(tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text), lineno=line)):
                yield from passages(numbered(text, line))


def comments(source: str) -> Iterator[Passage]:
    """Yield the comments of a module, those on lines that follow each other as one."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    yield from adjacent(
        [(token.start[0], token.string.lstrip("#! ")) for token in tokens if token.type == tokenize.COMMENT]
    )


def script_comments(source: str) -> Iterator[Passage]:
    """Yield the comments of a JavaScript module, those on lines that follow each other as one."""
    for block in SCRIPT_BLOCK.finditer(source):
        first = source.count("\n", 0, block.start(1)) + 1
        yield from passages((number, line.strip(" *")) for number, line in numbered(block[1], first))
    yield from adjacent([(number, end[1]) for number, line in numbered(source) if (end := SCRIPT_LINE.search(line))])


def adjacent(lines: list[tuple[int, str]]) -> Iterator[Passage]:
    """Yield the passages of comments, each a line with its number; lines that follow each other are read as one."""
    for _, group in groupby(enumerate(lines), lambda one: one[1][0] - one[0]):
        yield from passages(line for _, line in group)


def in_module(path: Path, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Yield the findings of a Python module: each name once, docstrings and comments."""
    source = path.read_text("utf-8")
    tree = ast.parse(source)
    module = path.parent.name if path.stem == "__init__" else path.stem
    yield from (Finding(1, f"module {module}: {message}") for _, message in vocabulary.found("files", module))
    names = {module: 1}
    for node in ast.walk(tree):
        name = defined(node)
        if name is not None:
            names.setdefault(name, node.lineno)  # type: ignore[attr-defined] # what defines a name has a line
    for name, line in names.items():
        yield from (Finding(line, f"name {name}: {message}") for _, message in vocabulary.found("names", name))
    for passage in (*docstrings(tree), *comments(source)):
        for below, message in vocabulary.found("text", passage.text):
            yield Finding(passage.line + below, message)


def in_script(path: Path, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Yield the findings of the comments of a JavaScript module."""
    for passage in script_comments(path.read_text("utf-8")):
        for below, message in vocabulary.found("text", passage.text):
            yield Finding(passage.line + below, message)


def in_template(path: Path, vocabulary: Vocabulary) -> Iterator[Finding]:
    """Yield the findings of a template: of its comments, its descriptions and its names."""
    text = TEMPLATE_COMMENT.sub("", path.read_text("utf-8"))
    for below, message in vocabulary.found("text", text):
        yield Finding(1 + below, message)


READERS: Final = {".md": in_page, ".py": in_module, ".js": in_script, ".yaml": in_template}
"""What finds the findings of a file, by how its name ends."""


def files(paths: Iterable[Path]) -> Iterator[Path]:
    """Yield the files to read at or below the paths, but for those that a release or somebody else has written."""
    for path in paths:
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (one for one in found if one.suffix in READERS and not SKIPPED & set(one.parts))


def main(arguments: list[str]) -> int:
    """Print every finding; return 1 if there is one, 2 if a path does not exist."""
    if missing := [name for name in arguments if not Path(name).exists()]:
        print(*(f"{name}: does not exist" for name in missing), sep="\n", file=sys.stderr)
        return 2
    known = vocabulary(WORDS.read_text("utf-8"))
    searched = map(Path, arguments) if arguments else (path for glob in SEARCHED for path in sorted(ROOT.glob(glob)))
    count = 0
    for path in files(searched):
        found = READERS[path.suffix](path, known)
        shown = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        for finding in sorted(found):
            count += 1
            print(f"{shown}:{finding.line}: {finding.message}")
    if count:
        print(f"{count} found: docs/words.md says how we write")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
