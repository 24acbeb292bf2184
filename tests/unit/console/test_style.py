"""The console's style sheet: each class and token is in use, and colours are named once, as tokens."""

import re

from tests.support.console_modules import MODULES, STATIC

STYLE = (STATIC / "style.css").read_text("utf-8")
SCRIPTS = "\n".join(path.read_text("utf-8") for path in (*MODULES, STATIC / "index.html"))
KEYS = {"good", "warn", "bad"}
"""Classes that are keys of an object: the colours of statuses."""
WORDS = KEYS | {word for text in re.findall(r'"([^"\n]*)"|`([\w -]*)\$\{', SCRIPTS) for word in " ".join(text).split()}
"""The words of all texts in the modules; classes are among them."""
OF_THE_CHARTS = ("u-", "uplot")
"""How the classes begin that the library of the charts gives."""


def test_every_class_of_the_style_sheet_is_in_a_module() -> None:
    rules = re.sub(r"\{[^{}]*\}|/\*.*?\*/", "", STYLE, flags=re.DOTALL)
    classes = {one for one in re.findall(r"\.([a-z][\w-]*)", rules) if not one.startswith(OF_THE_CHARTS)}
    assert len(classes) > 50
    assert sorted(classes - WORDS) == []


def test_every_token_is_used_and_every_used_token_is_there() -> None:
    named = set(re.findall(r"(--[\w-]+):", STYLE))
    assert set(re.findall(r"var\((--[\w-]+)\)", STYLE)) == named


def test_colours_are_tokens() -> None:
    rules = STYLE[STYLE.index("/* Type. */") :]
    assert re.findall(r"#[0-9a-f]{3,8}\b", rules) == []
