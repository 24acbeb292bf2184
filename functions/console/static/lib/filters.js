/** The filters of lists, and their field of an agency: an id, or a part of one agency's name. */
import { html, useEffect, useState } from "../vendor/htm-preact.js";
import { agencyIdOf, allAgencies } from "./agencies.js";
import { isolated } from "./names.js";
import { fieldsOf } from "./parts.js";
import { address, navigate } from "./routes.js";
import { firstPages } from "./rows.js";

const LIST = "agencies";
const NONE = [];

/** Returns the agencies that the reader may see: none while they load, or if they cannot be read. */
function useAgencies() {
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

/**
 * The form that chooses which rows the API returns: its fields become parameters of the page at `parts`. The view of
 * the list stays. `query`: the present parameters; `read` returns the parameters of the fields, if they differ.
 */
export function Filters({ parts, query, label, read = (fields) => fields, children }) {
  const send = async (event) => {
    const fields = read(await withAgency(fieldsOf(event)));
    navigate(address(parts, fields) + firstPages(window.location.hash));
  };
  return html`
    <form class="bar" aria-label=${label} key=${JSON.stringify(query)} onSubmit=${send}>
      ${children}<button>Show</button>
    </form>`;
}
