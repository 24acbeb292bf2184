/** The dialog that writes a new version of an agency's registration or of a rate card, on top of the one shown. */
import { html, useState } from "../vendor/htm-preact.js";
import * as format from "../lib/format.js";
import { Conflict, Dialog, Person, Time, useConflict } from "../lib/parts.js";

/**
 * A form of `fields`, which get the content of the version that it begins with.
 *
 * `latest`: that version, with `version` 0 if there is none yet. `contentOf` returns the content in the form, `factsOf`
 * what a content says, as pairs of words and text. `read` returns the version that is the latest now, `write` sends the
 * new one. If somebody else has written one meanwhile, both are shown, and the form can begin again with theirs.
 */
export function NewVersion({
  title, action, latest, fields, contentOf, factsOf, read, write, onDone, onClose, wide, children,
}) {
  const [base, setBase] = useState(latest);
  const [sending, conflict] = useConflict(
    (form) => write({ seen: base.version, content: contentOf(form, base.content) }, form),
    async (form) => ({ theirs: await read(form), yours: contentOf(form, base.content) }),
    onDone,
  );
  const begun = conflict && conflict.theirs.version === base.version;
  const problem = begun && sending.problem?.status === 409 ? null : sending.problem;
  return html`
    <${Dialog} ...${{ title, action, onClose, wide }} ...${sending} problem=${problem}
      isStale=${conflict && !begun}>
      ${children}
      <${fields} content=${base.content} key=${base.version} />
      ${conflict && html`
        <${Conflict} rows=${rowsOf(factsOf(conflict.theirs.content), factsOf(conflict.yours))}
          label="Start from their version" onTheirs=${!begun && (() => setBase(conflict.theirs))}>
          Version ${format.count(conflict.theirs.version)} was written by
          ${" "}<${Person} by=${conflict.theirs.written_by} />,
          ${" "}<${Time} at=${conflict.theirs.written_at} />.
          ${begun && " The form has its content now. Make your changes again, and send it."}
        <//>`}
    <//>`;
}

/** Returns the facts of two versions by their words: those words, and both texts. */
function rowsOf(theirs, yours) {
  const [one, other] = [new Map(theirs), new Map(yours)];
  return [...new Map([...one, ...other]).keys()].map((name) => [name, one.get(name) || "", other.get(name) || ""]);
}
