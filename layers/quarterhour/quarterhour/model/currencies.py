"""The currencies of ISO 4217 and how many digits their minor units have.

This is a table, not a library, because libraries parse XML or load locales on import. That would slow every cold
start. A test compares the tables with libraries' lists. Codes without a minor unit (metals, test codes) are left out.
"""

from datetime import datetime, timedelta
from typing import Final

_BY_DIGITS: Final = {
    0: ("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"),
    2: (
        "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD BTN BWP BYN BZD CAD CDF "
        "CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD "
        "GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL "
        "MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR "
        "PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP "
        "TRY TTD TWD TZS UAH USD USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG"
    ),
    3: ("BHD IQD JOD KWD LYD OMR TND"),
    4: ("CLF UYW"),
}
_WITHDRAWN: Final = (
    "ADP 1970-01 2003-07; AFA 1970-01 2003-01; ANG 1970-01 2025-07; AOK 1977-01 1991-03; AON 1990-09 2000-02; "
    "AOR 1995-07 2000-02; ARA 1985-06 1992-01; ARP 1983-06 1985-07; ATS 1970-01 2002-03; AZM 1993-11 2005-12; "
    "BAD 1992-07 1997-07; BEC 1970-01 1990-03; BEF 1970-01 2002-03; BEL 1970-01 1990-03; BGL 1970-01 2003-11; "
    "BGN 1999-07 2026-01; BOP 1970-01 1987-02; BRB 1970-01 1986-03; BRC 1986-02 1989-02; BRE 1990-03 1993-08; "
    "BRN 1989-01 1990-03; BRR 1993-08 1994-07; BUK 1970-01 1990-02; BYB 1994-08 2001-01; BYR 2000-01 2017-01; "
    "CHC 1970-01 2004-11; CSD 2002-05 2006-10; CSK 1970-01 1993-03; CUC 1994-01 2021-06; CYP 1970-01 2008-01; "
    "DDM 1970-01 1990-09; DEM 1970-01 2002-03; ECS 1970-01 2000-09; ECV 1993-05 2000-09; EEK 1992-06 2011-01; "
    "EQE 1975-07 1989-12; ESA 1978-01 1981-12; ESB 1975-01 1994-12; ESP 1970-01 2002-03; FIM 1970-01 2002-03; "
    "FRF 1970-01 2002-03; GEK 1993-04 1995-10; GHC 1979-03 2008-01; GHP 2007-06 2007-06; GNS 1972-10 1986-02; "
    "GQE 1975-07 1986-06; GRD 1970-01 2002-03; GWE 1970-01 1981-12; GWP 1976-02 1997-05; HRD 1991-12 1995-01; "
    "HRK 1994-05 2023-01; IEP 1970-01 2002-03; ILP 1970-01 1981-12; ITL 1970-01 2002-03; LSM 1980-01 1985-05; "
    "LTL 1993-06 2015-01; LTT 1992-10 1993-07; LUC 1970-01 1990-03; LUF 1970-01 2002-03; LUL 1970-01 1990-03; "
    "LVL 1993-06 2014-01; LVR 1992-05 1994-12; MGF 1970-01 2004-12; MLF 1970-01 1984-11; MRO 1973-06 2018-06; "
    "MTL 1970-01 2008-01; MTP 1970-01 1983-06; MXP 1970-01 1993-01; MZE 1975-06 1981-12; MZM 1980-06 2006-06; "
    "NIC 1988-02 1990-10; NLG 1970-01 2002-03; PEI 1985-02 1991-07; PES 1970-01 1986-02; PLZ 1970-01 1997-01; "
    "PTE 1970-01 2002-03; RHD 1970-02 1981-12; ROL 1970-01 2005-06; RUR 1991-12 2004-01; SDD 1992-06 2007-07; "
    "SDP 1970-01 1998-06; SIT 1992-10 2007-01; SKK 1992-12 2009-01; SLL 1970-01 2024-03; SRG 1970-01 2003-12; "
    "STD 1977-09 2018-06; SUR 1970-01 1990-12; TJR 1995-05 2001-04; TMM 1993-11 2009-01; TPE 1970-01 2002-11; "
    "TRL 1970-01 2005-12; UAK 1992-11 1996-09; UGS 1970-01 1987-05; USS 1970-01 2014-03; UYP 1975-07 1993-03; "
    "VEB 1970-01 2008-01; VEF 2008-01 2018-08; XEU 1979-01 1999-01; YDD 1970-01 1991-09; YUD 1970-01 1990-01; "
    "YUM 1994-01 2003-07; YUN 1990-01 1995-11; ZAL 1985-09 1995-03; ZMK 1970-01 2013-01; ZRN 1993-11 1999-06; "
    "ZRZ 1971-10 1994-02; ZWD 1980-04 2008-08; ZWL 2009-02 2024-09; ZWN 2006-08 2009-06; ZWR 2008-08 2009-06"
)
"""The withdrawn codes, each with the month in which its currency began and the last in which it was money."""
_WITHDRAWN_WITHOUT_MINOR_UNIT: Final = frozenset(
    ["ADP", "BEF", "BYB", "BYR", "ESP", "GRD", "ITL", "LUF", "MGF", "PTE", "TPE", "TRL"]
)
_EASTERNMOST: Final = timedelta(hours=14)
"""The most that a clock differs from UTC: at either end of a currency's life, it may be another month there."""

_MONTH_LENGTH: Final = len("2026-10")

IN_USE: Final = frozenset(code for codes in _BY_DIGITS.values() for code in codes.split())
"""The codes that are not withdrawn."""
LIVES: Final = {code: (first, last) for code, first, last in map(str.split, _WITHDRAWN.split(";"))}
"""The first and the last month of each withdrawn currency."""
MINOR_DIGITS: Final = {
    **{code: 0 if code in _WITHDRAWN_WITHOUT_MINOR_UNIT else 2 for code in LIVES},
    **{code: digits for digits, codes in _BY_DIGITS.items() for code in codes.split()},
}


def not_of_its_time(code: str, at: datetime, *, later: bool) -> str | None:
    """Return why a currency was no money at an instant, ``None`` if it was.

    ``later``: what pays or corrects earlier sales may follow the end of its currency.
    """
    if code not in LIVES:
        return None
    first, last = LIVES[code]
    if _month(at, _EASTERNMOST) < first:
        return f"is {code}, which began in {first}"
    if not later and _month(at, -_EASTERNMOST) > last:
        return f"is {code}, which was withdrawn in {last}"
    return None


def _month(at: datetime, moved: timedelta) -> str:
    try:
        return (at + moved).isoformat()[:_MONTH_LENGTH]
    except OverflowError:  # before the year 1 or after 9999
        return at.isoformat()[:_MONTH_LENGTH]
