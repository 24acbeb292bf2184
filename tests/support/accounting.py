"""Documents of statements for accounting: parsed, and as the files of a sealed period."""

import csv
import gzip
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from hashlib import sha256
from io import BytesIO, StringIO
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.reports.lines import COLUMNS as LINE_COLUMNS
from quarterhour.statements.drafts.draft import COLUMNS as DRAFT_COLUMNS
from quarterhour.statements.keys import LINES, PAGE, STATEMENT, draft_list_key, manifest_key
from quarterhour.statements.listing import COLUMNS, FIGURES, Document, SealedObject, write_list
from quarterhour.statements.releases.keys import release_list_key, release_manifest_key
from quarterhour_tools.accounting.account_map import AccountMap, read_account_map
from quarterhour_tools.accounting.document import PaidAmount, StatementDocument
from quarterhour_tools.accounting.journal import _FORMS
from tests.support.repository import ROOT

EXAMPLE: Final = (ROOT / "examples" / "accounting" / "accounts.toml").read_text("utf-8")
OWNER: Final = {
    "legal_name": "Corner Market B.V.",
    "address": "Dam 1\n1012 JS Amsterdam",
    "country": "NL",
    "vat_id": "NL004495445B01",
    "iban": "NL91 ABNA 0417 1643 00",
}
CUSTOMER: Final = {
    "registered": True,
    "legal_name": "Harbour Books GmbH",
    "address": "Am Sandtorkai 1\n20457 Hamburg",
    "country": "DE",
    "vat_id": "DE136695976",
    "iban": "DE89370400440532013000",
}

LINES_BY_KIND: Final = {"sales": 10, "voids": 1, "adjustments": 0, "payments": 0}


def tax(base: str, tax: str = "0.00", scheme: str | None = "standard", percent: str = "19") -> dict[str, Any]:
    """Return a row of tax."""
    percent = percent if scheme == "standard" else "0"
    spans = [{"from": "2026-11-02", "to": "2026-11-28"}]
    charges = [{"name": "commission", "exact": base, "amount": base}]
    return {"scheme": scheme, "percent": percent, "base": base, "tax": tax, "tax_points": spans, "charges": charges}


def in_euros(*rows: tuple[str, str], rate: str = "0.8", **amounts: str) -> dict[str, Any]:
    """Return the member ``tax_in`` whose rows have these bases and taxes; other amounts are 0."""
    return {
        "currency": "EUR",
        "exchange_rate": rate,
        **dict.fromkeys(("brought_forward", "proceeds", "payments"), "0.00"),
        "base": _total(base for base, _ in rows),
        "tax": _total(taxed for _, taxed in rows),
        "rows": [{"base": base, "tax": taxed} for base, taxed in rows],
        **amounts,
    }


def content(*taxes: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Return the content of a statement whose payable and closing follow from its other amounts."""
    rows = list(taxes) or [tax("100.00", "19.00")]
    base, taxed = (_total(row[name] for row in rows) for name in ("base", "tax"))
    values: dict[str, Any] = {
        "schema": 1,
        "document": "credit_note" if base < 0 else "statement",
        "number": "S-000001",
        "period": "2026-11",
        "issued_on": "2026-12-04",
        "time_zone": "Europe/Amsterdam",
        "agency": "42",
        "currency": "EUR",
        "collects": "agency",
        "collected": [],
        "owner": OWNER,
        "customer": CUSTOMER,
        "taxes": rows,
        "tax_in": None,
        "cancels": None,
        "opening": "0",
        "brought_forward": "0",
        "net": "1000.00",
        "commission": money.plain(base),
        "tax": money.plain(taxed),
        "payable": money.plain(money.add(base, taxed)),
        "proceeds": "0.00",
        "payments": "0",
        "base": {"currency": "EUR"},
        "by_kind": {
            "sales": {"lines": 10},
            "voids": {"lines": 1},
            "adjustments": {"lines": 0},
            "payments": {"lines": 0},
        },
        "payment_days": 14,
        "lines_file": {"sha256": ""},
        **changed,
    }
    profile = {name: values["customer"].get(name) for name in ("country", "vat_id")}
    values["taxes"] = [{**profile, "reason": None, "reason_code": None, **row} for row in values["taxes"]]
    given = (money.negated(Decimal(values[name])) for name in ("proceeds", "payments"))
    closing = _total((values["opening"], values["payable"], *map(str, given)))
    due = date.fromisoformat(values["issued_on"]) + timedelta(values["payment_days"])
    return {"closing": money.plain(closing), "due_on": due.isoformat() if closing > 0 else None, **values}


def _total(amounts: Iterable[str]) -> Decimal:
    total = money.ZERO
    for amount in amounts:
        total = money.add(total, Decimal(amount))
    return total


def document(
    *taxes: dict[str, Any], release: int = 1, revision: int = 1, paid: Iterable[PaidAmount] = (), **changed: Any
) -> StatementDocument:
    """Return a document as ``content`` describes it; without ``paid``, one payment makes its ``payments``."""
    return paid_at_once(StatementDocument.parse(content(*taxes, **changed), release, revision), *paid)


def paid_at_once(document: StatementDocument, *paid: PaidAmount) -> StatementDocument:
    """Return a document with payments: by default one of all its ``payments``, on the 20th of its month."""
    one = PaidAmount(document.period.first_day.replace(day=20), document.payments)
    return replace(document, paid=paid or ((one,) if document.payments else ()))


def accounts(text: str = EXAMPLE, form: str = "csv") -> AccountMap:
    """Return the map of a TOML text for a format."""
    return read_account_map(text, _FORMS[form])


def rows_of(file: bytes, delimiter: str = ",", encoding: str = "utf-8") -> list[list[str]]:
    """Return the cells of a CSV file."""
    return list(csv.reader(StringIO(file.decode(encoding), newline=""), delimiter=delimiter))


def lines_file(lines: Iterable[Mapping[str, str]]) -> bytes:
    """Return the file of the lines of a statement; what a line does not name is empty."""
    text = StringIO(newline="")
    writer = csv.DictWriter(text, LINE_COLUMNS, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return gzip.compress(text.getvalue().encode(), mtime=0)


def write_period(
    folder: Path,
    contents: Iterable[dict[str, Any]],
    period: str = "2026-11",
    release: int = 0,
    payments: Mapping[Account, Iterable[Mapping[str, str]]] = MappingProxyType({}),
) -> None:
    """Write the files of a sealed period and of a release of its drafts into a folder.

    ``release``: its number, that of the period by default. A document that cancels another one comes after it.
    ``payments``: the lines of the payments of accounts.
    """
    of = Period.parse(period)
    number = release or 12 * of.year + of.month
    rows: list[list[str]] = []
    revisions: Counter[Account] = Counter()
    for given in contents:
        account = Account(given["agency"], given["currency"])
        revisions[account] += 1
        paid = list(payments.get(account, ()))
        lines = lines_file(paid)
        values = {
            **given,
            "by_kind": {**given["by_kind"], "payments": {"lines": len(paid)}},
            "lines_file": {"sha256": sha256(lines).hexdigest()},
        }
        files = {STATEMENT: json.dumps(values, ensure_ascii=False).encode(), PAGE: b"<!doctype html>", LINES: lines}
        one = Document(
            of,
            account,
            revisions[account],
            values["number"],
            values["document"],
            values["cancels"]["number"] if isinstance(values["cancels"], dict) else "",
            {name: Decimal(values.get(name, "0")) for name in FIGURES},
            11,
            0,
            {name: SealedObject(sha256(bytes_).hexdigest(), len(bytes_)) for name, bytes_ in files.items()},
        )
        for name, bytes_ in files.items():
            file = folder / one.key_of(name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(bytes_)
        rows.append(one.as_row())
    text = BytesIO()
    write_list(text, COLUMNS, rows)
    for key, content_ in {
        release_list_key(number): text.getvalue().decode(),
        release_manifest_key(number): "{}",
    }.items():
        (folder / key).parent.mkdir(parents=True, exist_ok=True)
        (folder / key).write_text(content_, "utf-8")
    (folder / manifest_key(of)).write_text("{}", "utf-8")
    if not (drafts := folder / draft_list_key(of)).exists():
        drafts.write_text(f"{','.join(DRAFT_COLUMNS)}\n", "utf-8")
