/** Who uses the page. */

/** Returns the headers that authorize a request: none, because this deployment has no sign-in. */
export const headersOf = async () => ({});
