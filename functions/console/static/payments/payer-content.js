/** What a registration says of those who pay for its agency. It requests and shows nothing. */

/** Returns a registration with the name and the IBAN of the other party of a line; itself if it knows both. */
export function withPayer(content, { name, iban }) {
  const found = [
    ["legal_name", "payer_names", name.trim()], ["iban", "payer_ibans", iban.replaceAll(/\s/g, "")],
  ].filter(([own, field, text]) => text && content[own] !== text && !content[field]?.includes(text));
  if (!found.length) return content;
  const more = Object.fromEntries(found.map(([, field, text]) => [field, [...content[field] ?? [], text]]));
  return { ...content, ...more };
}
