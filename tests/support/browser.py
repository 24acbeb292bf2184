"""A headless Chromium, driven through its DevTools protocol over a pair of pipes; and what its tests share."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from importlib.resources import files
from io import FileIO
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

HOSTILE: Final = "<img src=x onerror=document.title='ran'>"
RIGHT_TO_LEFT: Final = "שלום & Co"
ZONE: Final = {"BusinessTimeZone": "Asia/Tokyo"}
SCREEN: Final = (1280, 900)
PHONE: Final = (390, 844)
NEEDED: Final = ("chromium", "pdftotext")
_END: Final = b"\0"
_FREE: Final = 10
"""From this number on, file descriptors collide with neither standard streams nor the browser's 3 and 4."""
_PATIENCE: Final = 20
"""Seconds that a page may take to show something."""
_PAUSE: Final = 0.05
_CLICK: Final = """((text) => {
  const all = [...document.querySelectorAll("a, button")].map((one) => [one, one.innerText.trim()]);
  const [one] = all.find(([, shown]) => shown === text) ?? all.find(([, shown]) => shown.startsWith(text)) ?? [];
  one?.click();
  return Boolean(one);
})(%s)"""
_CODES: Final = {
    "Tab": {"windowsVirtualKeyCode": 9},
    "Enter": {"windowsVirtualKeyCode": 13},
    "Escape": {"windowsVirtualKeyCode": 27},
}
_CHOOSE: Final = """function (text) {
  this.value = [...this.options].find((one) => one.text === text).value;
  this.dispatchEvent(new Event("change", {bubbles: true}));
}"""
_CLOCK: Final = """{
  const Real = Date;
  globalThis.Date = class extends Real {
    constructor(...given) { super(...(given.length ? given : [%(now)s])); }
    static now() { return %(now)s; }
  };
}"""
_FLAGS: Final = ("--headless", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--remote-debugging-pipe")


def missing() -> str:
    """Return what a browser test lacks here; empty if it lacks nothing."""
    absent = [program for program in NEEDED if not shutil.which(program)]
    return f"{', '.join(absent)} not found (apt-get install chromium poppler-utils)" if absent else ""


IN_A_BROWSER: Final = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]
"""The marks of a module whose tests need the browser."""


class CommandError(Exception):
    """The browser did not carry out a command."""


class Tab:
    """A page of the browser."""

    def __init__(self, commands: FileIO, answers: FileIO) -> None:
        self._commands, self._answers, self._received = commands, answers, b""
        self._ids = count(1)
        self._session: dict[str, str] = {}
        self.requested: list[str] = []
        """The addresses that pages requested since the last was opened."""
        self.errors: list[str] = []
        """What pages wrote to the console as an error since the last was opened."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = {"sessionId": self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]}
        self._call("Page.enable")
        self._call("Network.enable")
        self._call("Log.enable")
        self._call("Runtime.enable")

    def open(self, page: Path | str, color_scheme: str = "light") -> None:
        """Open a file or an address; wait until it is loaded."""
        self.requested, self.errors = [], []
        scheme = {"name": "prefers-color-scheme", "value": color_scheme}
        self._call("Emulation.setEmulatedMedia", features=[scheme])
        self._call("Page.navigate", url=page.as_uri() if isinstance(page, Path) else page)
        while self._read().get("method") != "Page.loadEventFired":
            pass

    def set_clock(self, now: datetime) -> None:
        """Let it be this time, and no other, in every page that is opened from now on."""
        source = _CLOCK % {"now": int(now.timestamp() * 1000)}
        self._call("Page.addScriptToEvaluateOnNewDocument", source=source)

    def evaluate(self, expression: str) -> Any:
        """Return the JSON value of an expression, or of what it promises."""
        found = self._call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def violations(self) -> list[str]:
        """Return what axe-core finds wrong with the page."""
        self.evaluate((files("axe_core_python") / "axe.min.js").read_text("utf-8"))
        found = self.evaluate("axe.run().then(({violations, passes}) => ({violations, passes: passes.length}))")
        assert found["passes"], "axe-core checked nothing"
        return [f"{one['id']}: {node['html']}" for one in found["violations"] for node in one["nodes"]]

    def until(self, expression: str) -> None:
        """Wait until an expression has a true value."""
        ends = time.monotonic() + _PATIENCE
        while not self._holds(expression):
            assert time.monotonic() < ends, (expression, self.evaluate("document.body.innerText"))
            time.sleep(_PAUSE)

    def _holds(self, expression: str) -> bool:
        try:
            return bool(self.evaluate(f"Boolean({expression})"))
        except CommandError:
            return False  # the page has just changed, as on the way to the issuer

    def click(self, text: str) -> None:
        """Click the first link or button with a text, or else whose text begins so, as soon as there is one."""
        self.until(_CLICK % json.dumps(text))

    def follow(self, role: str, name: str) -> None:
        """Click the first element with a role and an accessible name with the mouse, as soon as there is one."""

        def click(node: int) -> None:
            self._call("DOM.scrollIntoViewIfNeeded", backendNodeId=node)
            quad, *_ = self._call("DOM.getContentQuads", backendNodeId=node)["quads"]
            time.sleep(_PAUSE)
            if quad != self._call("DOM.getContentQuads", backendNodeId=node)["quads"][0]:
                raise CommandError(name, "moves")
            x, y, _, _, right, bottom, *_ = quad
            place = {"x": (x + right) / 2, "y": (y + bottom) / 2, "button": "left", "clickCount": 1}
            self._call("Input.dispatchMouseEvent", type="mousePressed", **place)
            self._call("Input.dispatchMouseEvent", type="mouseReleased", **place)

        self._with(role, name, click)

    def fill(self, label: str, text: str) -> None:
        """Write a text into the field with a label, in place of what it held."""
        self._with("textbox", label, lambda node: self._call("DOM.focus", backendNodeId=node))
        self.evaluate("document.activeElement.select()")
        self._call("Input.insertText", text=text)

    def choose(self, label: str, option: str) -> None:
        """Choose an option of the list with a label."""

        def choose(node: int) -> None:
            one = {"objectId": self._call("DOM.resolveNode", backendNodeId=node)["object"]["objectId"]}
            self._call("Runtime.callFunctionOn", functionDeclaration=_CHOOSE, arguments=[{"value": option}], **one)

        self._with("combobox", label, choose)

    def press(self, key: str) -> None:
        """Press a key, such as Tab or Enter."""
        text = {"text": "\r"} if key == "Enter" else {}
        self._call("Input.dispatchKeyEvent", type="keyDown", key=key, code=key, **_CODES[key], **text)
        self._call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key, **_CODES[key])

    def resize(self, width: int, height: int) -> None:
        """Give the page another size, in pixels."""
        self._call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def pdf(self, width: float, height: float) -> bytes:
        """Return the page printed on paper of a size in inches."""
        printed = self._call("Page.printToPDF", paperWidth=width, paperHeight=height, printBackground=True)
        return base64.b64decode(printed["data"])

    def close_browser(self) -> None:
        """Close the whole browser."""
        self._session = {}
        self._call("Browser.close")

    def _with(self, role: str, name: str, action: Callable[[int], object]) -> None:
        """Do something with the first element that assistive technology knows by a role and a name."""
        ends = time.monotonic() + _PATIENCE
        while time.monotonic() < ends:
            with suppress(CommandError):  # the page has just changed
                root = self._call("DOM.getDocument", depth=0)["root"]["nodeId"]
                query = {"nodeId": root, "role": role, "accessibleName": name}
                for node in self._call("Accessibility.queryAXTree", **query)["nodes"]:
                    if not node["ignored"]:
                        action(node["backendDOMNodeId"])
                        return
            time.sleep(_PAUSE)
        raise AssertionError(role, name, self.evaluate("document.body.innerText"))

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters, **self._session}
        self._commands.write(json.dumps(message).encode() + _END)
        while (answer := self._read()).get("id") != number:
            pass
        if "error" in answer:
            raise CommandError(method, answer["error"])
        result: dict[str, Any] = answer["result"]
        return result

    def _read(self) -> dict[str, Any]:
        """Return the next answer or event, and remember a request."""
        while _END not in self._received:
            piece = self._answers.read(1 << 20)
            assert piece, "the browser is gone"
            self._received += piece
        content, _, self._received = self._received.partition(_END)
        message: dict[str, Any] = json.loads(content)
        if message.get("method") == "Network.requestWillBeSent":
            self.requested.append(message["params"]["request"]["url"])
        self.errors += _errors(message)
        return message


def shown(browser: Tab, text: str) -> None:
    """Wait until the page shows a text."""
    browser.until(f"document.querySelector('main')?.innerText.includes({text!r})")


def called(browser: Tab, module: str, function: str, *arguments: Any) -> Any:
    """Return what a function of one of the page's modules returns."""
    address = "document.querySelector('script[type=module]').src"
    call_ = f"module.{function}(...{json.dumps(arguments)})"
    return browser.evaluate(f"import({address}.replace('app.js', {module!r})).then((module) => {call_})")


def _errors(message: dict[str, Any]) -> list[str]:
    """Return what an event of the browser reports as an error."""
    match message:
        case {"method": "Log.entryAdded", "params": {"entry": {"level": "error", **entry}}}:
            return [f"{entry.get('text')} {entry.get('url', '')}"]
        case {"method": "Runtime.exceptionThrown", "params": {"exceptionDetails": details}}:
            return [str(details.get("exception", {}).get("description", details["text"]))]
        case {"method": "Runtime.consoleAPICalled", "params": {"type": "error", "args": args}}:
            return [str([one.get("value", one.get("description")) for one in args])]
        case _:
            return []


@contextmanager
def tab(folder: Path) -> Iterator[Tab]:
    """Start a browser whose profile is in a folder, and yield a page of it."""
    theirs, commands = _pipe()
    answers, ours = _pipe()
    flags = [*_FLAGS, f"--user-data-dir={folder}", *(["--no-sandbox"] if os.geteuid() == 0 else [])]
    # The shell gives the browser the descriptors that it expects.
    command = ["bash", "-c", f'exec "$@" 3<&{theirs} 4>&{ours}', "bash", "chromium", *flags]
    with (
        subprocess.Popen(command, pass_fds=(theirs, ours), stderr=subprocess.DEVNULL) as process,  # noqa: S603 - ours
        FileIO(commands, "w") as writing,
        FileIO(answers) as reading,
    ):
        os.close(theirs)
        os.close(ours)
        try:
            page = Tab(writing, reading)
            yield page
            page.close_browser()
        finally:
            process.terminate()


def _pipe() -> tuple[int, int]:
    """Return the reading and the writing end of a pipe, both with a free number."""
    ends = os.pipe()
    free = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _FREE) for end in ends]
    for end in ends:
        os.close(end)
    return free[0], free[1]
