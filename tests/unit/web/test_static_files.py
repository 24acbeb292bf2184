"""The console's files: their addresses, their types, and the headers that protect their reader."""

import gzip
from html import unescape

import pytest

from quarterhour.web.static_files import (
    INDEX,
    PageSettings,
    accepts_gzip,
    compact,
    security_policy,
    served_files,
    tree_hash,
)
from tests.support.cases import cases

FILES = {
    INDEX: b"<meta content='$settings'>$modules<script src='$assets/app.js'></script>",
    "app.js": b"export {}",
    "pages/one.js": b"export {}",
    "vendor/one.LICENSE": b"free",
}
SETTINGS = PageSettings('https://issuer.example/a"b')


def test_each_file_is_served_under_the_hash_of_all_of_them_and_cached_for_ever() -> None:
    served = served_files(FILES, SETTINGS, [])
    root = f"/assets/{tree_hash(FILES)}"
    assert set(served) == {INDEX, f"{root}/app.js", f"{root}/pages/one.js"}
    module = served[f"{root}/pages/one.js"]
    assert module.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert module.headers["content-type"] == "text/javascript; charset=utf-8"
    assert gzip.decompress(module.compressed) == module.content == b"export {}"


def test_the_page_names_the_hash_and_its_settings_and_is_checked_each_time() -> None:
    page = served_files(FILES, SETTINGS, ["https://issuer.example"])[INDEX]
    assert page.headers["cache-control"] == "no-cache"
    assert "connect-src 'self' https://issuer.example;" in page.headers["content-security-policy"]
    text = page.content.decode()
    assert f"/assets/{tree_hash(FILES)}/app.js" in text
    assert f'<link rel="modulepreload" href="/assets/{tree_hash(FILES)}/pages/one.js">' in text
    settings, _, _ = text.removeprefix("<meta content='").partition("'>")
    assert '"' not in settings
    assert r'"issuer": "https://issuer.example/a\"b"' in unescape(settings)


@pytest.mark.parametrize("other", [{**FILES, "app.js": b"changed"}, {**FILES, "more.js": b""}, {INDEX: FILES[INDEX]}])
def test_any_change_changes_the_hash(other: dict[str, bytes]) -> None:
    assert tree_hash(other) != tree_hash(FILES) == tree_hash(dict(reversed(FILES.items())))


def test_the_policy_allows_no_inline_script_no_frame_and_no_other_host() -> None:
    directives = dict(one.split(" ", 1) for one in security_policy([]).split("; "))
    assert directives == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self'",
        "frame-ancestors": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }


@cases(
    "header",
    [
        *("gzip", "GZIP", "gzip, deflate, br", "br;q=1.0,gzip;q=0.001", "gzip ; q=0.5", "deflate,\tgzip;Q=1.000"),
        *("*", "br, *;q=0.1", "identity, *", "gzip;q=1, *;q=0", ", gzip,"),
    ],
)
def test_gzip_is_accepted_by_its_name_or_by_an_asterisk(header: str) -> None:
    assert accepts_gzip(header)


@cases(
    "header",
    [
        *("", "identity", "br", "notgzip", "gzipped", "gzip-9", "x gzip", "br;gzip", 'br;"gzip"', ","),
        *("gzip;q=0", "gzip;q=0.000", "gzip;q=0, *", "*;q=0", "br, *;q=0.0"),
        *("gzip;q=", "gzip;q=2", "gzip;q=-1", "gzip;q=nan", "gzip;q=0.0001", "gzip;q=\u0661", "gzip;level=9"),
    ],
)
def test_without_gzip_among_what_a_client_accepts_nothing_is_compressed(header: str) -> None:
    assert not accepts_gzip(header)


def test_code_is_sent_without_its_comments_and_vendored_files_whole() -> None:
    code = b'import{one,two}from"./b.js";\nconst URL = "https://x // y"; // "as it is"\nexport const f = 1;\n'
    module = (
        b'/** What it is for. */\n  // a note\nimport {\n  one, two,\n} from "./b.js";\n\n/**\n * Returns 1.\n */\n'
        b'const URL = "https://x // y"; // "as it is"\nexport const f = 1; // A note.\n'
    )
    assert compact("a.js", module) == code.replace(b"two}", b"two,}")
    assert compact("vendor/a.js", module) == compact("a.md", module) == module
    assert compact("a.css", b"/* Colours. */\na {\n  color: red;\n}\n") == b"a {color: red;}"
