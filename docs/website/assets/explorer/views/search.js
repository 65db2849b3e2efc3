/** Everything with a name that was searched for. */

import { address } from "../address.js";
import { el, named, prose } from "../dom.js";
import { KINDS } from "../kinds.js";

/** @import {Address} from "../address.js" */
/** @import {Index, Item} from "../types.js" */

/**
 * @param {Index} index
 * @param {Address} place
 */
export function searchView(index, place) {
  const text = place.query.get("q") ?? "";
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const groups = KINDS.map((kind) => ({ kind, found: matching(index.items[kind.kind], words) }));
  const total = groups.reduce((sum, group) => sum + group.found.length, 0);
  return {
    title: `Search: ${text}`,
    content: [
      el("p", { role: "status" }, total === 1 ? "1 item" : `${total} items`),
      ...groups
        .filter((group) => group.found.length)
        .map(({ kind, found }) =>
          el(
            "section",
            {},
            el("h2", {}, kind.title),
            el(
              "ul.results",
              {},
              found.map((item) =>
                el(
                  "li",
                  {},
                  el("a", { href: address(kind.view, item.name) }, named(item.name)),
                  " ",
                  el("span.doc", {}, item.title ? `${item.title}: ` : "", prose(item.doc ?? "")),
                ),
              ),
            ),
          ),
        ),
    ],
  };
}

/**
 * Items with all words in their names, then those with some in their texts.
 * @param {Item[]} items
 * @param {string[]} words
 */
function matching(items, words) {
  if (!words.length) return [];
  const named = items.filter((one) => holds(one.name, words));
  const told = items.filter((one) => !named.includes(one) && holds(`${one.name} ${one.title ?? ""} ${one.doc ?? ""}`, words));
  return [...named, ...told];
}

/**
 * @param {string} text
 * @param {string[]} words
 */
function holds(text, words) {
  const lower = text.toLowerCase();
  return words.every((word) => lower.includes(word));
}
