/** The certificate of a proof, a separate page: it says what was proven, when, and how to repeat it. */
import { statusWords } from "../lib/status.js";

const STYLE = "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1b2333}"
  + "table{border-collapse:collapse;width:100%}th,td{padding:.3rem .6rem;text-align:left;vertical-align:top;"
  + "border-bottom:1px solid #d9dee7;overflow-wrap:anywhere}";
const ENTITIES = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };

const escaped = (text) => String(text).replace(/[&<>"']/g, (one) => ENTITIES[one]);

/**
 * Returns the certificate as HTML, which loads nothing. `subject`: what was proven; `address`: its page; `at`: the
 * instant; `result`: the sentence; `notProven`: texts; `command`: what repeats the proof.
 */
export function certificate({ subject, address, at, result, steps, notProven, command }) {
  const row = (cells) => `<tr>${cells.map((cell) => `<td><bdi>${escaped(cell)}</bdi></td>`).join("")}</tr>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>${escaped(subject)}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1><bdi>${escaped(subject)}</bdi></h1>
<p><strong>${escaped(result)}</strong></p>
<p>A browser made this proof at ${escaped(at)}, on the page <bdi id="page">${escaped(address)}</bdi>. It
compared the files with their hashes, and added up their lines.</p>
<h2>What was checked</h2>
<table>
<thead><tr><th>Step</th><th>Outcome</th><th>What was compared</th></tr></thead>
<tbody>
${steps.map(({ text, outcome, detail }) => row([text, statusWords(outcome), detail])).join("\n")}
</tbody>
</table>
<h2>What was not proven</h2>
<ul>
${notProven.map((text) => `<li>${escaped(text)}</li>`).join("\n")}
</ul>
<h2>How to repeat it</h2>
<p>Download the files into one folder. Then run <code>${escaped(command)}</code>.</p>
<p>This page is no proof by itself: anybody can write one.</p>
</main>
</body>
</html>
`;
}
