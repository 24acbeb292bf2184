/** Who the reader is: their roles and agencies. The API is the gate; this only decides what is worth showing. */
import { get } from "./api.js";
import { keepAgency } from "./routes.js";

let me;

/** The roles of the marketplace's staff, who see all agencies. */
export const STAFF = ["finance", "support", "auditor"];

/** Asks the API who the reader is. Call it once, before any page is shown. */
export async function load() {
  me = await get("/me");
  if (me.agencies.length > 1) keepAgency();
  return me;
}

/** Returns whether the reader has one of these roles, or is a machine, as everybody is without sign-in. */
export const may = (...roles) => me.machine || roles.some((one) => me.roles.includes(one));

/** Returns the agencies of a reader with the role agency; none for staff and machines, who see all. */
export const agencies = () => me.agencies;
