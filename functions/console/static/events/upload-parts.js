/** The parts of the uploads of files: what could not be read, and how far the sending is. */
import { html } from "../vendor/htm-preact.js";
import * as format from "../lib/format.js";
import { Name } from "../lib/parts.js";

/** Returns a number of things in words: 1 row, 13 rows. */
export const counted = (many, name) => `${format.count(many)} ${name}${many === 1 ? "" : "s"}`;

/** The lines of a file without a result, with the messages of the command. */
export const Messages = ({ messages, many, things }) => many > 0 && html`
  <div class="mark">
    <p><strong>${counted(many, things)}</strong></p>
    <ul class="plain">
      ${messages.map(({ line, reason }) => html`<li key=${line + reason}>line ${line}: <${Name}>${reason}<//></li>`)}
      ${many > messages.length && html`
        <li key="more">... and ${counted(many - messages.length, `more ${things}`)}</li>`}
    </ul>
  </div>`;

/** How far the sending is, and a button that stops it. */
export const Progress = ({ done, of, onStop }) => html`
  <p class="bar">
    <progress aria-label="Progress" value=${done} max=${of}></progress>
    <button type="button" onClick=${onStop}>Stop</button>
  </p>`;
