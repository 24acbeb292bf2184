"""The style of sealed pages, whose bytes it is in: for screens, light and dark, and for paper, A4 and Letter."""

from base64 import b64encode
from hashlib import sha256
from typing import Final

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1b2333;--soft:#556074;--line:#d9dee7;--band:#f3f6fb;--accent:#1d5bbf;
--paper:#fff;--mark:#8a2a10;--mark-band:#fdf1ec}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e7ebf3;--soft:#a9b3c4;--line:#38424f;--band:#1c2430;
--accent:#86b4ff;--paper:#12171f;--mark:#ffb59c;--mark-band:#33201a}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:56rem;padding:2.5rem 1.5rem 3rem;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}
header{display:flex;flex-wrap:wrap;gap:1.5rem 3rem;justify-content:space-between;align-items:flex-start;
padding-bottom:1.5rem;border-bottom:2px solid var(--accent)}
header p,.party p{margin:0}
header img{display:block;max-width:14rem;max-height:4.5rem;margin-bottom:.75rem}
.title{text-align:right;margin-left:auto}
h1{margin:0;font-size:1.9rem;line-height:1.2;font-weight:650;letter-spacing:-.01em}
h2{margin:2.25rem 0 .6rem;font-size:1.1rem;line-height:1.3;font-weight:650}
h3{margin:1.4rem 0 .4rem;font-size:.95rem;font-weight:650}
.lead{font-size:1.05rem;font-weight:600}
.note,figcaption,.axis,dt{color:var(--soft)}
.note{margin:.5rem 0;max-width:46rem}
.mark{margin:1.25rem 0 0;padding:.6rem .9rem;border-left:4px solid var(--mark);background:var(--mark-band);
color:var(--mark);font-weight:600}
.parties{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:1.5rem 3rem;margin:1.5rem 0}
.party h2{margin:0 0 .25rem;font-size:.85rem;color:var(--soft)}
.facts{display:grid;align-content:start;gap:.15rem;margin:0}
.facts div{display:grid;grid-template-columns:minmax(6.5rem,max-content) 1fr;gap:1rem}
dd{margin:0;overflow-wrap:anywhere}
.due{display:flex;flex-wrap:wrap;gap:.5rem 3rem;justify-content:space-between;align-items:baseline;
padding:1rem 1.25rem;background:var(--band);border-radius:6px}
.due p{margin:0}
.due strong{font-size:1.5rem;font-weight:650;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{width:100%;border-collapse:collapse}
th,td{padding:.4rem .75rem;text-align:left;vertical-align:top;font-weight:400;border-bottom:1px solid var(--line);
min-width:5.5em;overflow-wrap:break-word}
th:first-child,td:first-child{padding-left:0}
th:last-child,td:last-child{padding-right:0}
thead th{vertical-align:bottom;color:var(--soft);font-size:.87em;font-weight:600;border-bottom:1px solid var(--soft)}
.n{min-width:0;text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums lining-nums}
.n.long{min-width:12em;white-space:normal}
.long{overflow-wrap:anywhere}
.sum>*{font-weight:650;border-top:1px solid var(--soft)}
code{font:.87em/1.4 ui-monospace,"Cascadia Mono","Noto Sans Mono",monospace;overflow-wrap:anywhere}
figure{margin:.75rem 0 1.25rem}
svg{display:block;width:100%;height:7.5rem;margin-top:.4rem;fill:var(--accent)}
svg path{stroke:var(--soft);stroke-width:1px;vector-effect:non-scaling-stroke}
.axis{display:flex;justify-content:space-between;font-size:.87em;font-variant-numeric:tabular-nums}
.each span{flex:1;text-align:center}
.short{white-space:nowrap}
@page{margin:16mm 15mm 18mm;@bottom-right{content:counter(page) " / " counter(pages);font:8pt sans-serif;color:#556074}}
@media print{
:root{color-scheme:light}
body{max-width:none;padding:0;font-size:9.5pt;line-height:1.4}
.due,.mark{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.scroll{overflow:visible}
thead{display:table-header-group}
tr,.scroll:not(:has(tr:nth-child(13))),figure,.due,.parties,.mark,.note,.facts div{break-inside:avoid}
h1,h2,h3,figcaption{break-after:avoid}
h2{margin-top:1.6rem}
th,td{padding-top:.25rem;padding-bottom:.25rem}
svg{height:5.5rem}
}
"""
"""CSS of reports and of statements of schema 1.

Figures have digits of one width, a table's head repeats on each sheet, and no row is cut.
"""


def hash_of(style: str) -> str:
    """Return the hash of a style, as a content security policy names it."""
    return f"sha256-{b64encode(sha256(style.encode()).digest()).decode()}"
