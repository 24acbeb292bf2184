"""The console's static files as responses: addresses, content types, security headers."""

import gzip
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from html import escape
from pathlib import PurePosixPath
from string import Template
from typing import Final
from urllib.parse import urlsplit

INDEX: Final = "index.html"
ASSETS: Final = "/assets"
TYPES: Final[Mapping[str, str]] = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".md": "text/markdown; charset=utf-8",
    ".svg": "image/svg+xml",
}
"""The content types of files that are served; a file with another ending is not served."""

_HASH_DIGITS: Final = 16
_ACCEPTED: Final = re.compile(r"([^\s;]+)(?:[ \t]*;[ \t]*q=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?))?", re.IGNORECASE)
"""A coding of ``Accept-Encoding`` and its weight (RFC 9110, 12.5.3)."""
_VENDOR: Final = "vendor/"
_FOR_PEOPLE: Final = re.compile(rb"""^\s*(?:/\*.*?\*/\n|//[^\n]*\n)?| //[^\n'"`]*$""", re.MULTILINE | re.DOTALL)
"""What those who read code need: blanks and empty lines, whole lines that are a comment, and comments of a line."""
_IMPORT: Final = re.compile(rb"^import [^;]*;", re.MULTILINE)
_AROUND_NAMES: Final = re.compile(rb"\s*([{},\"])\s*")
_RULE_ENDS: Final = re.compile(rb"(?<=[;{}])\n")
PROTECTION: Final = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


def accepts_gzip(accept_encoding: str) -> bool:
    """Return whether a header ``Accept-Encoding`` admits gzip (RFC 9110); an entry that is malformed admits nothing."""
    entries = (_ACCEPTED.fullmatch(one.strip(" \t")) for one in accept_encoding.split(","))
    weights = {entry[1].lower(): float(entry[2] or 1) for entry in entries if entry}
    return weights.get("gzip", weights.get("*", 0)) > 0


@dataclass(frozen=True, slots=True)
class PageSettings:
    """What the page knows of its deployment: how people sign in. Without an ``issuer``, nobody does."""

    issuer: str = ""
    client_id: str = ""
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Served:
    """A file as it is sent: its headers, its content, and the same content compressed by gzip."""

    headers: Mapping[str, str]
    content: bytes
    compressed: bytes

    @classmethod
    def of(cls, name: str, content: bytes, headers: Mapping[str, str]) -> "Served":
        """Return a file by its name and content, with more headers."""
        kind = {"content-type": TYPES[PurePosixPath(name).suffix], "vary": "accept-encoding"}
        return cls({**kind, **PROTECTION, **headers}, content, gzip.compress(content, mtime=0))


def tree_hash(files: Mapping[str, bytes]) -> str:
    """Return the hash of files by name: 16 hexadecimal digits, another one if a name or a content changes."""
    digest = sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{sha256(files[name]).hexdigest()}\n".encode())
    return digest.hexdigest()[:_HASH_DIGITS]


def security_policy(connect: Sequence[str]) -> str:
    """Return the content security policy of the page, which may connect to its own host and to these origins."""
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data:",
            " ".join(("connect-src 'self'", *connect)),
            "frame-ancestors 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def origin(address: str) -> str:
    """Return the origin of an address: its scheme, host and port."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc}"


def compact(name: str, content: bytes) -> bytes:
    """Return a file as it is sent: code without comments and needless blanks, a sixth of it; vendored files whole."""
    if not name.endswith((".js", ".css")) or name.startswith(_VENDOR):
        return content
    code = _FOR_PEOPLE.sub(b"", content)
    if name.endswith(".css"):
        return _RULE_ENDS.sub(b"", code)
    return _IMPORT.sub(lambda found: _AROUND_NAMES.sub(rb"\1", found[0]), code)


def served_files(files: Mapping[str, bytes], settings: PageSettings, connect: Sequence[str]) -> dict[str, Served]:
    """Return what is served by path, from the files by name; the key ``INDEX`` holds the page.

    Each file but the index is served under the hash of all of them, so it can be cached for ever. The index names that
    hash, so browsers request it each time.
    """
    root = f"{ASSETS}/{tree_hash(files)}"
    served = {
        f"{root}/{name}": Served.of(
            name, compact(name, content), {"cache-control": "public, max-age=31536000, immutable"}
        )
        for name, content in files.items()
        if name != INDEX and PurePosixPath(name).suffix in TYPES
    }
    text = files[INDEX].decode()
    modules = sorted(
        f"{root}/{name}"
        for name in files
        if name.endswith(".js") and f"$assets/{name}" not in text  # It loads those.
    )
    page = Template(text).substitute(
        assets=root,
        settings=escape(json.dumps(asdict(settings))),
        modules="\n".join(f'<link rel="modulepreload" href="{path}">' for path in modules),
    )
    headers = {"cache-control": "no-cache", "content-security-policy": security_policy(connect)}
    return {INDEX: Served.of(INDEX, page.encode(), headers), **served}
