/** What went wrong with a request: a response that is not a success, or none at all (status 0). */
export class Problem extends Error {
  constructor(status, title, detail, requestId) {
    super(detail || title);
    Object.assign(this, { name: "Problem", status, title, requestId });
  }
}
