/** Verify a file: a statement or a certificate that somebody received, chosen or dropped, is proved in the browser. */
import { html, useState } from "../vendor/htm-preact.js";
import { Proof, counted } from "./panel.js";
import { proofOfReceived } from "./received.js";
import { NOT_PROVEN } from "./statement-proof.js";

/** The page. */
export function Verify() {
  const [files, setFiles] = useState([]);
  const drop = (event) => {
    event.preventDefault();
    setFiles([...event.dataTransfer.files]);
  };
  return html`
    <p>Choose the files of a statement that you received, <code>statement.json</code> and
      ${" "}<code>lines.csv.gz</code>, or a certificate of this console. They stay on your machine: your browser proves
      each figure, and compares the file with the one that is sealed here, if you may see it.</p>
    <p class="empty" onDragOver=${(event) => event.preventDefault()} onDrop=${drop}>
      <label>Files, chosen or dropped here
        ${" "}<input type="file" multiple accept=".json,.gz,.html"
          onChange=${(event) => setFiles([...event.target.files])} />
      </label>
    </p>
    ${files.length > 0 && html`
      <p>${files.map(({ name }) => name).join(", ")}</p>
      <${Proof} key=${files.map(({ name, size }) => name + size).join()} subject=${files[0].name} name="received"
        label="Verify" begin=${() => proofOfReceived(files)} result=${resultOf} notProven=${NOT_PROVEN}
        command="quarterhour verify --statement DIR" />`}`;
}

/** Returns what is proven in one sentence. */
function resultOf(steps) {
  const lines = steps.reduce((many, { counts }) => many + (counts?.lines ?? 0), 0);
  const open = steps.filter(({ outcome }) => outcome === "unknown").length;
  const rest = open ? `; ${open} not checked` : "";
  return `${counted(steps.length - open, "step")} passed, ${counted(lines, "line")} added up${rest}`;
}
