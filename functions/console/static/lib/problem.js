/**
 * A failed request: a response that is not a success, or none at all (status 0). `errors` are the fields that the API
 * refuses, each with what was wrong and what it expects.
 */
export class Problem extends Error {
  constructor(status, title, detail, requestId, errors = []) {
    super(detail || title);
    Object.assign(this, { name: "Problem", status, title, requestId, errors });
  }
}
