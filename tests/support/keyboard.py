"""A page that is used by keyboard alone: what a test does is to press keys."""

from typing import Final

from tests.support.browser import Tab

_MOST: Final = 600
"""Presses of Tab after which the focus has been everywhere."""
_FOCUSED: Final = """(() => {
  const one = document.activeElement;
  const words = one.ariaLabel || one.labels?.[0]?.innerText || one.innerText || "";
  return words.replace(/[\\u2066-\\u2069]/g, "").replace(/\\s+/g, " ").trim();
})()"""


def reach(browser: Tab, name: str) -> None:
    """Press Tab until the focus is on what has a name, or a name that begins so."""
    met: list[str] = []
    for _ in range(_MOST):
        browser.press("Tab")
        met.append(browser.evaluate(_FOCUSED))
        if met[-1].startswith(name):
            return
    raise AssertionError((name, sorted(set(met))))


def enter(browser: Tab, name: str) -> None:
    """Reach what has a name, and press Enter."""
    reach(browser, name)
    browser.press("Enter")


def write(browser: Tab, name: str, text: str) -> None:
    """Reach the field with a name, and write a text in place of what it holds."""
    reach(browser, name)
    browser.press("Control+a")
    browser.page.keyboard.type(text)
