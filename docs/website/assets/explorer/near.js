/** Names that are like an unknown one. */

import { address } from "./address.js";
import { el, named } from "./dom.js";
import { KINDS } from "./kinds.js";

/** @import {Index} from "./types.js" */

const ENOUGH = 0.6;
/** Longer texts are not names: to compare them takes long. */
const LONGEST = 80;

/**
 * A question with links to the two items whose names are most like an unknown one, if any are.
 * @param {Index} index
 * @param {string} text
 */
export function didYouMean(index, text) {
  const unknown = text.trim().toLowerCase();
  if (unknown.length > LONGEST) return [];
  const items = KINDS.flatMap(({ kind, view }) =>
    index.items[kind].map(({ name }) => ({ view, name })),
  );
  const links = items
    .map((item) => ({ ...item, alike: likeness(unknown, item.name.toLowerCase()) }))
    .filter(({ alike }) => alike >= ENOUGH)
    .sort((a, b) => b.alike - a.alike)
    .slice(0, 2)
    .map((item) => el("a", { href: address(item.view, item.name) }, named(item.name)));
  const [first, second] = links;
  if (!first) return [];
  return [el("p", {}, "Did you mean ", first, ...(second ? [" or ", second] : []), "?")];
}

/**
 * How alike two texts are, from 0 to 1: their longest common subsequence beside their lengths.
 * @param {string} one
 * @param {string} other
 */
function likeness(one, other) {
  /** @type {number[]} */
  let before = [];
  for (const letter of one) {
    let last = 0;
    const row = [...other].map((each, at) => {
      const same = letter === each ? (before[at - 1] ?? 0) + 1 : 0;
      last = Math.max(last, before[at] ?? 0, same);
      return last;
    });
    before = row;
  }
  return (2 * (before.at(-1) ?? 0)) / (one.length + other.length || 1);
}
