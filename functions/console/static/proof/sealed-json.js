/** JSON of sealed files: a doubled key is refused, as `quarterhour verify` does, and not read as its last value. */

const STRINGS = /"(?:[^"\\]|\\.)*"(\s*:)?/g;

/** Returns the value of JSON; a SyntaxError if it is no JSON, or if an object in it has one key twice. */
export function parseSealed(text) {
  const value = JSON.parse(text);
  let written = 0;
  for (const [, colon] of text.matchAll(STRINGS)) if (colon) written += 1;
  if (written !== keysIn(value)) throw new SyntaxError("A key appears twice in one object.");
  return value;
}

/** Returns the number of keys of all objects in a value. */
function keysIn(value) {
  if (value === null || typeof value !== "object") return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((many, one) => many + keysIn(one), own);
}
