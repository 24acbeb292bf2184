"""The runbooks that the console serves are those of the documents, and every link to one leads to a heading."""

import re

from tests.support.repository import ROOT

CONSOLE = ROOT / "functions" / "console"
DOCUMENT = (ROOT / "docs" / "runbooks.md").read_text("utf-8")
PAGE = "".join((CONSOLE / "static" / "operations" / name).read_text("utf-8") for name in ("operations.js", "held.js"))


def test_the_function_of_the_console_holds_the_document_by_a_link_that_a_build_follows() -> None:
    link = CONSOLE / "runbooks.md"
    assert link.is_symlink()
    assert link.readlink().as_posix() == "../../docs/runbooks.md"


def test_the_page_of_operations_links_a_runbook_for_each_queue_and_part() -> None:
    queues = re.findall(r'^  "([a-z-]+)": "', PAGE, re.MULTILINE)
    linked = [name for names in re.findall(r"names=\$\{\[(.+?)\]\}", PAGE) for name in re.findall(r'"([\w-]+)"', names)]
    assert (len(queues), len(linked)) == (5, 4)
    headings = re.findall(r"^### (.+)$", DOCUMENT, re.MULTILINE)
    assert [name for name in queues + linked if name not in headings] == []


def test_every_other_link_of_the_console_to_a_runbook_leads_to_a_heading() -> None:
    scripts = [script.read_text("utf-8") for script in (CONSOLE / "static").glob("*/*.js")]
    linked = {name for script in scripts for name in re.findall(r'\["runbooks", "([\w-]+)"\]', script)}
    headings = re.findall(r"^#+ (.+)$", DOCUMENT, re.MULTILINE)
    assert linked == {"statements", "releasing-statements"}
    assert linked <= {heading.lower().replace(" ", "-") for heading in headings}
