/** Who the reader is: their roles and agencies. The API is the gate; this only decides what is worth showing. */
import { get } from "./api.js";
import { setRounding, setZone } from "./format.js";
import { keepAgency } from "./routes.js";

let me;

/** The roles of the marketplace's staff, who see all agencies. */
export const STAFF = ["finance", "support", "auditor"];

/** Asks the API who the reader is. Call it once, before any page is shown. */
export async function load() {
  me = await get("/me");
  setZone(me.time_zone);
  setRounding(me.rounding);
  if (me.agencies.length > 1) keepAgency();
  return me;
}

/** Returns whether the reader has one of these roles, or is a machine, as everybody is without sign-in. */
export const may = (...roles) => me.machine || roles.some((one) => me.roles.includes(one));

/** Returns the reader: name, whether a machine, roles, and the agencies of a person with the role agency. */
export const reader = () => me;

/** The source of what people record by hand. */
export const BY_HAND = "finance";
const TYPES_BY_HAND = ["payment.recorded", "adjustment.recorded"];

/** Returns whether the reader may record an event: by hand, or from a source that the settings open to uploads. */
export const mayRecord = ({ source, type }) =>
  me.machine || me.upload_sources.includes(source) || (source === BY_HAND && TYPES_BY_HAND.includes(type));
