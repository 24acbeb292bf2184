"""The style of a statement: for screens, light and dark, and for paper, A4 and Letter."""

from typing import Final

_STYLE: Final = """
:root{color-scheme:light dark;--ink:#1b2333;--soft:#556074;--line:#d9dee7;--band:#f2f5fa;--accent:#1d5bbf;--paper:#fff}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e7ebf3;--soft:#a9b3c4;--line:#38424f;--band:#1c2430;
--accent:#86b4ff;--paper:#12171f}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:54rem;padding:2.5rem 1.5rem 3rem;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}
p{margin:0}
header{display:flex;flex-wrap:wrap;gap:1rem 3rem;justify-content:space-between;align-items:flex-end;
padding-bottom:1rem;border-bottom:2px solid var(--accent)}
header img{display:block;max-width:14rem;max-height:4rem;margin-bottom:.5rem}
header .party,.title{min-width:0;max-width:100%}
.title{text-align:right;margin-left:auto}
h1{margin:0;font-size:1.75rem;line-height:1.2;font-weight:600;letter-spacing:-.01em}
h2{margin:2.25rem 0 .5rem;font-size:1.1rem;line-height:1.3;font-weight:600}
h3{margin:1.4rem 0 .3rem;font-size:.95rem;font-weight:600}
.lead{font-size:1.05rem;font-weight:600}
.note,figcaption,.axis,dt,.label{color:var(--soft)}
.note{margin:.5rem 0;max-width:44rem}
.due{display:grid;grid-template-columns:minmax(0,2fr) minmax(0,3fr);gap:1rem 2rem;align-items:center;
margin-top:1.5rem;padding:1.1rem 1.35rem;background:var(--band);border-left:4px solid var(--accent);border-radius:4px}
.due strong{display:block;font-size:1.75rem;line-height:1.25;font-weight:600;font-variant-numeric:tabular-nums;
overflow-wrap:anywhere}
.due .facts{font-size:.95em}
.say{margin-top:1rem}
.say p+p{margin-top:.25rem}
.parties{display:grid;grid-template-columns:minmax(0,11fr) minmax(0,11fr) minmax(0,8fr);gap:1.5rem 1.75rem;
margin:1.75rem 0 0}
@media screen and (max-width:40rem){.due,.parties{grid-template-columns:minmax(0,1fr)}
.title{text-align:left;margin-left:0}}
.parties .party,.parties .facts{overflow-wrap:anywhere}
.party h2{margin:0 0 .25rem;font-size:.85rem;font-weight:600;color:var(--soft)}
.facts{display:grid;grid-template-columns:fit-content(45%) minmax(0,1fr);align-content:start;gap:.15rem 1.25rem;
margin:0}
.facts div{display:grid;grid-column:1/-1;grid-template-columns:subgrid;align-items:baseline}
.parties .facts div{display:block;margin-bottom:.4rem}
.parties dt{font-size:.85rem;line-height:1.3;font-weight:600}
dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{width:100%;border-collapse:collapse}
th,td{padding:.35rem .75rem;text-align:left;vertical-align:top;font-weight:400;border-bottom:1px solid var(--line);
min-width:4.5em;overflow-wrap:break-word}
th:first-child,td:first-child{padding-left:0}
th:last-child,td:last-child{padding-right:0}
thead th{vertical-align:bottom;color:var(--soft);font-size:.87em;font-weight:600;border-bottom:1px solid var(--soft)}
thead tr:not(:has(:nth-child(5))) .n{width:11em}
.n{min-width:0;text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums lining-nums}
.n.long{min-width:12em;white-space:normal;overflow-wrap:anywhere}
.long{overflow-wrap:anywhere}
.sum>*{font-weight:600}
tr:has(+.sum)>*{border-bottom-color:var(--soft)}
.below>:first-child{padding-left:1.25rem;color:var(--soft)}
code{font:.87em/1.4 ui-monospace,"Cascadia Mono","Noto Sans Mono",monospace;overflow-wrap:anywhere}
figure{margin:.75rem 0 1.25rem}
svg{display:block;width:100%;height:7rem;margin-top:.4rem;fill:var(--accent)}
svg path{stroke:var(--soft);stroke-width:1px;vector-effect:non-scaling-stroke}
.axis{display:flex;justify-content:space-between;font-size:.87em;font-variant-numeric:tabular-nums}
.each span{flex:1;text-align:center}
.short{white-space:nowrap}
@media print{
:root{color-scheme:light}
body{max-width:none;padding:0;font-size:9.5pt;line-height:1.4}
.due{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.scroll{overflow:visible}
thead{display:table-header-group}
tr,.scroll:not(:has(tr:nth-child(13))),figure,.due,.say,.parties,.note,.facts div{break-inside:avoid}
.appendix{break-inside:avoid}
h1,h2,h3,figure,figcaption,.scroll:has(+.note),.note:has(+.scroll){break-after:avoid}
h2{margin-top:1.5rem}
th,td{padding-top:.22rem;padding-bottom:.22rem}
svg{height:5rem}
}
"""
_NAME: Final = 60
"""The most characters of a name that fit at the foot of a sheet."""


def page_style(number: str, agency: str) -> str:
    """Return the CSS of a statement, with its number and its agency at the foot of each printed sheet."""
    shown = agency if len(agency) <= _NAME else f"{agency[: _NAME - 1]}…"
    # The isolates keep a name's own direction of writing apart from the number.
    foot = _string(f"{number} · \N{FIRST STRONG ISOLATE}{shown}\N{POP DIRECTIONAL ISOLATE}")
    look = 'font:8pt system-ui,"Noto Sans",sans-serif;color:#556074;vertical-align:top;padding-top:4mm'
    pages = 'counter(page) " / " counter(pages)'
    return (
        f"{_STYLE}@page{{margin:15mm 15mm 19mm;@bottom-left{{content:{foot};text-align:left;{look}}}"
        f"@bottom-right{{content:{pages};text-align:right;{look}}}}}\n"
    )


def _string(text: str) -> str:
    """Return a text as a string of CSS, in which nothing can end the string or the style."""
    return '"' + "".join(one if one.isascii() and one.isalnum() else f"\\{ord(one):x} " for one in text) + '"'
