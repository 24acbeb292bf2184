/** The upload of a file of sales or of agencies: checked by the API as the commands do, shown, then sent. */
import { html, useState } from "../vendor/htm-preact.js";
import { UploadAgencies } from "./upload-agencies.js";
import { UploadSales } from "./upload-sales.js";

/** The page. Of `query`, `kind` is what the file holds to begin with. */
export function Upload({ query }) {
  const [kind, setKind] = useState(query.kind === "agencies" ? "agencies" : "sales");
  return html`
    <p>The file is read as the commands read it: <code>quarterhour csv</code>, <code>quarterhour agencies</code>.
      Nothing is recorded before you have seen what it holds. A file that is sent twice adds nothing. If its
      ids hold the number of the row, it must never change: the page asks whether it does.</p>
    <p class="bar">
      <label>The file holds
        <select value=${kind} onChange=${(event) => setKind(event.target.value)}>
          <option value="sales">Sales and other events</option>
          <option value="agencies">Agencies</option>
        </select>
      </label>
    </p>
    <${kind === "sales" ? UploadSales : UploadAgencies} key=${kind} />`;
}
