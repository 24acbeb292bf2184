/**
 * The steps of a proof. Each has a `text` that says what is so, an `outcome` (passed, failed or unknown), and a
 * `detail`: what was compared, or what differs. A failed one says in `wrong` what is wrong, in one sentence.
 */
import { Problem } from "../lib/problem.js";

/** Returns a step: passed with what the check returns, or failed with what it throws. */
export async function step(text, check) {
  try {
    return { text, outcome: "passed", detail: await check() };
  } catch (problem) {
    return { text, outcome: "failed", detail: problem.message, wrong: problem.title ?? problem.message };
  }
}

/** Throws what is wrong, in one sentence without its full stop. */
export function refuse(wrong) {
  throw new Problem(0, wrong);
}

/** Throws what is wrong unless something is as expected. */
export function expect(what, found, expected) {
  if (found !== expected) refuse(`${what}: expected ${expected}, found ${found}`);
}

