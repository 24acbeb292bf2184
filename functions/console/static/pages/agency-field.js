/** The field of an agency in the filters of lists: an id, or a part of one agency's name. */
import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { agencyIdOf, allAgencies } from "../agencies.js";
import { isolated } from "../format.js";

const LIST = "agencies";
const NONE = [];

/** Returns the agencies that the reader may see: none while they load, or if they cannot be read. */
export function useAgencies() {
  const [agencies, setAgencies] = useState(NONE);
  useEffect(() => {
    let current = true;
    allAgencies().then((all) => current && setAgencies(all), () => {});
    return () => { current = false; };
  }, []);
  return agencies;
}

/** The field `agency` with the agencies as choices; `more` are attributes of the field. */
export function AgencyField({ value, ...more }) {
  const agencies = useAgencies();
  return html`
    <label>Agency <input name="agency" list=${LIST} defaultValue=${value} autocomplete="off" ...${more} /></label>
    <datalist id=${LIST}>
      ${agencies.map((one) => html`<option key=${one.agency} value=${one.agency}>${isolated(one.legal_name)}</option>`)}
    </datalist>`;
}

/** Returns the fields of a form with the id of the agency that its field means. */
export async function withAgency(fields) {
  if (!fields.agency) return fields;
  const agencies = await allAgencies().catch(() => NONE);
  return { ...fields, agency: agencyIdOf(agencies, fields.agency.trim()) };
}
