"""Files of a bank for tests: CAMT.053 and MT940 of a few lines."""

import re
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, Final

OWN_ACCOUNT: Final = "DE89370400440532013000"
PAYER: Final = "GB82WEST12345698765432"
CAMT_08: Final = "urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"


def entry(amount: str, text: str = "", **more: Any) -> str:
    """Return an entry of CAMT.053; a negative amount is a debit. ``inner`` replaces its details."""
    sign = more.get("sign", "DBIT" if amount.startswith("-") else "CRDT")
    details = more.get("inner", f"<NtryDtls>{transaction(text, **more)}</NtryDtls>")
    return f"""<Ntry><Amt Ccy="{more.get("currency", "EUR")}">{amount.removeprefix("-")}</Amt>
        <CdtDbtInd>{sign}</CdtDbtInd>{"<RvslInd>true</RvslInd>" if more.get("reversal") else ""}
        <Sts><Cd>{more.get("status", "BOOK")}</Cd></Sts><BookgDt><Dt>{more.get("date", "2026-11-05")}</Dt></BookgDt>
        <AcctSvcrRef>{more.get("reference", "NONREF")}</AcctSvcrRef>{details}</Ntry>"""


def transaction(text: str = "", **more: Any) -> str:
    """Return the details of a transaction; ``part``: its own amount."""
    amount = f'<Amt Ccy="EUR">{more["part"]}</Amt>' if "part" in more else ""
    name, iban = more.get("name", "Agency Ltd"), more.get("iban", PAYER)
    return f"""<TxDtls><Refs><EndToEndId>{more.get("end_to_end", "NOTPROVIDED")}</EndToEndId></Refs>{amount}
        <RltdPties><Dbtr><Pty><Nm>{name}</Nm></Pty></Dbtr><DbtrAcct><Id><IBAN>{iban}</IBAN></Id></DbtrAcct>
        <Cdtr><Pty><Nm>{more.get("creditor", "Marketplace")}</Nm></Pty></Cdtr></RltdPties>
        <RmtInf><Ustrd>{text}</Ustrd></RmtInf></TxDtls>"""


def camt(*entries: str, opening: str = "100.00", closing: str | None = None, namespace: str = CAMT_08) -> bytes:
    """Return a CAMT.053 of one statement. ``closing``: empty leaves the balance out."""
    return camt_of(statement(*entries, opening=opening, closing=closing), namespace=namespace)


def camt_of(*statements: str, namespace: str = CAMT_08) -> bytes:
    """Return a CAMT.053 of statements."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="{namespace}"><BkToCstmrStmt><GrpHdr><MsgId>1</MsgId></GrpHdr>{"".join(statements)}
</BkToCstmrStmt></Document>""".encode()


def statement(*entries: str, opening: str = "100.00", closing: str | None = None, **more: Any) -> str:
    """Return a statement of CAMT.053, in the currency of its first entry.

    ``head``: what precedes its account, such as its number. ``codes``: of its balances.
    """
    currency = (re.findall(r'<Amt Ccy="(\w+)">', "".join(entries)) or ["EUR"])[0]
    codes, day = more.get("codes", ("OPBD", "CLBD")), more.get("day", "2026-11-05")
    ends = opening if closing is None else closing
    balances = [(codes[0], opening), *([(codes[1], ends)] if ends else [])]
    shown = "".join(
        f'<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy="{currency}">{amount.removeprefix("-")}</Amt>'
        f"<CdtDbtInd>{'DBIT' if amount.startswith('-') else 'CRDT'}</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>"
        for code, amount in balances
    )
    return f"""<Stmt>{more.get("head", "")}<Acct><Id><IBAN>{more.get("account", OWN_ACCOUNT)}</IBAN></Id>
<Ccy>{currency}</Ccy></Acct>{shown}{"".join(entries)}</Stmt>"""


def mt940(*lines: tuple[str, str], opening: str = "100,00", closing: str = "100,00", **more: str) -> str:
    """Return an MT940 of one statement; a line is the field 61 after its dates, and the field 86.

    ``number``: the bank's own. ``marks``: ``F`` or ``M`` for each balance, of a statement or of a page.
    """
    body = "".join(f":61:2611051105{one}\n:86:{details}\n" for one, details in lines)
    first, last = list(more.get("marks", "FF"))
    return (
        f":20:STARTUMS\n:25:{more.get('account', OWN_ACCOUNT)}\n:28C:{more.get('number', '1/1')}\n"
        f":60{first}:{_balance('261101', opening)}\n{body}:62{last}:{_balance('261130', closing)}\n-\n"
    )


def _balance(day: str, amount: str) -> str:
    return f"{'D' if amount.startswith('-') else 'C'}{day}EUR{amount.removeprefix('-')}"


def table(rows: Iterable[tuple[str, str]], currency: str = "EUR") -> bytes:
    """Return CSV of amounts and references of one day."""
    lines = "".join(f"2026-11-05,{Decimal(amount)},{currency},{text}\n" for amount, text in rows)
    return f"date,amount,currency,reference\n{lines}".encode()
