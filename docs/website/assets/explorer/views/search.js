/** The items that match a search. */

import { address } from "../address.js";
import { el, holds, named, prose } from "../dom.js";
import { KINDS } from "../kinds.js";
import { didYouMean } from "../near.js";

/** @import {Address} from "../address.js" */
/** @import {Index, Item} from "../types.js" */

/**
 * @param {Index} index
 * @param {Address} place
 */
export function searchView(index, place) {
  const text = place.query.get("q") ?? "";
  const groups = KINDS.map((kind) => ({ kind, found: matching(index.items[kind.kind], text) }));
  const total = groups.reduce((sum, group) => sum + group.found.length, 0);
  return {
    title: `Search: ${text}`,
    content: [
      el("p", { role: "status" }, total === 1 ? "1 item" : `${total} items`),
      ...(total ? [] : didYouMean(index, text)),
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
 * Items with all words in their names, then those with some words in their texts.
 * @param {Item[]} items
 * @param {string} text
 */
function matching(items, text) {
  if (!text.trim()) return [];
  const found = items.filter((one) => holds(one.name, text));
  const told = items.filter((one) =>
    holds(`${one.name} ${one.title ?? ""} ${one.doc ?? ""}`, text),
  );
  return [...new Set([...found, ...told])];
}
