/** The dialog that writes a new version of an agency's registration or of a rate card, on top of the one shown. */
import { html, useState } from "../vendor/htm-preact.js";
import * as format from "../lib/format.js";
import { Conflict, Dialog, Hideable, Name, Person, Table, Time, useConflict, useSending } from "../lib/parts.js";

/**
 * A form of `fields`, which get the content of the version that it begins with.
 *
 * `latest`: that version, with `version` 0 if there is none yet. `contentOf` returns the content in the form, `factsOf`
 * what a content says, as pairs of words and text. `read` returns the version that is the latest now, `write` sends the
 * new one. If somebody else has written one meanwhile, both are shown, and the form can begin again with theirs.
 * `check`: returns what `review` shows of a content before it is written; without it, there is no review.
 */
export function NewVersion({
  title, action, latest, fields, contentOf, factsOf, read, write, check, review, onDone, onClose, wide, children,
}) {
  const [base, setBase] = useState(latest);
  const [checked, setChecked] = useState(null);
  const [writing, conflict] = useConflict(
    (form) => write({ seen: base.version, content: contentOf(form, base.content) }, form),
    async (form) => ({ theirs: await read(form), yours: contentOf(form, base.content) }),
    onDone,
  );
  const checking = useSending(async (form) => {
    const content = contentOf(form, base.content);
    setChecked({ content, found: await check(content) });
  }, () => {});
  const isReview = Boolean(check) && !checked;
  const sending = isReview ? { ...checking, onSend: (form) => checking.onSend(form).then(() => false) } : writing;
  const begun = conflict && conflict.theirs.version === base.version;
  const problem = begun && sending.problem?.status === 409 ? null : sending.problem;
  const isReviewed = Boolean(checked) && (!conflict || begun);
  const takeTheirs = () => {
    setChecked(null);
    setBase(conflict.theirs);
  };
  return html`
    <${Dialog} ...${{ title, onClose, wide }} ...${sending} problem=${problem} action=${isReview ? "Review" : action}
      isStale=${conflict && !begun}>
      <${Hideable} hidden=${isReviewed}>
        ${children}
        <${fields} content=${base.content} key=${base.version} />
      <//>
      ${isReviewed && html`
        <${Differences} rows=${rowsOf(factsOf(base.content), factsOf(checked.content))} />
        <${review} ...${checked.found} />
        <p><button type="button" disabled=${writing.busy} onClick=${() => setChecked(null)}>Change it</button></p>`}
      ${conflict && !isReviewed && html`
        <${Conflict} rows=${rowsOf(factsOf(conflict.theirs.content), factsOf(conflict.yours))}
          label="Start from their version" onTheirs=${!begun && takeTheirs}>
          Version ${format.count(conflict.theirs.version)} was written by
          ${" "}<${Person} by=${conflict.theirs.written_by} />,
          ${" "}<${Time} at=${conflict.theirs.written_at} />.
          ${begun && " The form has its content now. Make your changes again, and send it."}
        <//>`}
    <//>`;
}

/** What a new version says otherwise than the one before: rows of words and both texts. */
const Differences = ({ rows }) => html`
  <${Table} caption="What changes" head=${[["What"], ["Before"], ["Now"]]}>
    ${rows.filter(([, before, now]) => before !== now).map(([name, before, now]) => html`
      <tr key=${name}>
        <th scope="row" class="long"><${Name}>${name}<//></th><td class="long"><${Name}>${before}<//></td>
        <td class="long"><${Name}>${now}<//></td>
      </tr>`)}
  <//>`;

/** Returns the facts of two versions by their words: those words, and both texts. */
function rowsOf(theirs, yours) {
  const [one, other] = [new Map(theirs), new Map(yours)];
  return [...new Map([...one, ...other]).keys()].map((name) => [name, one.get(name) || "", other.get(name) || ""]);
}
