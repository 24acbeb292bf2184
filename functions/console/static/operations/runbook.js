/** A runbook: a section of the runbooks, as it is in the deployed version. */
import { html } from "../vendor/htm-preact.js";
import { runbookAddress } from "../lib/links.js";
import { Link, Pending, Table, useLoaded } from "../lib/parts.js";
import { Problem } from "../lib/problem.js";
import { address } from "../lib/routes.js";
import { blocksOf, sectionOf, spansOf } from "./markdown.js";

const DOCUMENT = new URL("../runbooks.md", import.meta.url);

/** The page. */
export function Runbook({ anchor }) {
  const { value: blocks, problem, again } = useLoaded(load, "");
  if (!blocks) return html`<${Pending} problem=${problem} retry=${again} />`;
  const [, ...section] = sectionOf(blocks, anchor);
  if (!section.length) {
    return html`<p class="empty">There is no runbook of this name. <${Link} to=${address(["operations"])}>Operations<//>
      links those of what may need attention.</p>`;
  }
  return html`<${Blocks} blocks=${section} />`;
}

async function load() {
  const response = await fetch(DOCUMENT);
  if (!response.ok) throw new Problem(response.status, "The runbooks are missing", "Reload the page.");
  return blocksOf(await response.text());
}

const Blocks = ({ blocks }) => blocks.map((one, index) => html`<${Block} key=${index} ...${one} />`);

function Block({ kind, text, ordered, items, head, rows }) {
  if (kind === "heading") return html`<h2><${Line} text=${text} /></h2>`;
  if (kind === "code") return html`<pre tabindex="0"><code>${text}</code></pre>`;
  if (kind === "table") return html`<${Rows} ...${{ head, rows }} />`;
  if (kind === "list") {
    return html`<${ordered ? "ol" : "ul"}>
      ${items.map((blocks, index) => html`<li key=${index}><${Blocks} blocks=${blocks} /></li>`)}
    <//>`;
  }
  return html`<p><${Line} text=${text} /></p>`;
}

const Rows = ({ head, rows }) => html`
  <${Table} label=${head.join(", ")} head=${head.map((cell) => [html`<${Line} text=${cell} />`])}>
    ${rows.map((row, index) => html`
      <tr key=${index}>
        ${row.map((cell, at) => html`<td key=${at} class="long"><${Line} text=${cell} /></td>`)}
      </tr>`)}
  <//>`;

const Line = ({ text }) => spansOf(text).map((one) => {
  if (typeof one === "string") return one;
  if (one.code) return html`<code>${one.code}</code>`;
  if (one.strong) return html`<strong><${Line} text=${one.strong} /></strong>`;
  if (one.emphasis) return html`<em><${Line} text=${one.emphasis} /></em>`;
  return html`<${To} href=${one.href} text=${one.link} />`;
});

/** A link of the runbooks: to one of its sections, or to the web. Other documents are not served. */
function To({ href, text }) {
  if (href.startsWith("#")) return html`<${Link} to=${runbookAddress(href.slice(1))}><${Line} text=${text} /><//>`;
  if (href.startsWith("https://")) return html`<a href=${href} rel="noopener noreferrer"><${Line} text=${text} /></a>`;
  return html`<${Line} text=${text} />`;
}
