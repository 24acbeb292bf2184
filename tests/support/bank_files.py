"""Files of a bank for tests: CAMT.053 and MT940 of a few lines."""

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
    ends = opening if closing is None else closing
    balances = [("OPBD", opening), *([("CLBD", ends)] if ends else [])]
    shown = "".join(
        f'<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{amount}</Amt>'
        f"<CdtDbtInd>CRDT</CdtDbtInd></Bal>"
        for code, amount in balances
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="{namespace}"><BkToCstmrStmt><GrpHdr><MsgId>1</MsgId></GrpHdr>
<Stmt><Acct><Id><IBAN>{OWN_ACCOUNT}</IBAN></Id><Ccy>EUR</Ccy></Acct>{shown}{"".join(entries)}</Stmt>
</BkToCstmrStmt></Document>""".encode()


def mt940(*lines: tuple[str, str], opening: str = "100,00", closing: str = "100,00") -> str:
    """Return an MT940 of one statement; a line is the field 61 after its dates, and the field 86."""
    body = "".join(f":61:2611051105{one}\n:86:{details}\n" for one, details in lines)
    return f":20:STARTUMS\n:25:{OWN_ACCOUNT}\n:28C:1/1\n:60F:C261101EUR{opening}\n{body}:62F:C261130EUR{closing}\n-\n"


def table(rows: Iterable[tuple[str, str]], currency: str = "EUR") -> bytes:
    """Return CSV of amounts and references of one day."""
    lines = "".join(f"2026-11-05,{Decimal(amount)},{currency},{text}\n" for amount, text in rows)
    return f"date,amount,currency,reference\n{lines}".encode()
