/** The changes of one item, from revision to revision. */

import { address } from "../address.js";
import * as data from "../data.js";
import { el } from "../dom.js";
import { markOf, marked } from "../marks.js";
import { changeLine, codesOf } from "./change.js";

/** @import {Mark} from "../marks.js" */
/** @import {KindText} from "../kinds.js" */
/** @import {Change, Comparison, Index, Item} from "../types.js" */

/**
 * @param {Index} index
 * @param {KindText} kind
 * @param {Item} item
 */
export async function changesOf(index, kind, item) {
  const pairs = index.revisions
    .slice(1)
    .map((after, at) => data.comparison(index.revisions[at]?.id ?? "", after.id));
  const found = await Promise.all(pairs);
  const entries = found.map((comparison, at) =>
    stepOf(kind, item, comparison, markOf(item.marks, at + 1)),
  );
  const [first] = index.revisions;
  const start = el("p", {}, "It is in the first revision.");
  return el(
    "section",
    { "aria-labelledby": "history" },
    el("h2", { id: "history" }, "History"),
    el(
      "ol.history",
      {},
      markOf(item.marks, 0) === "s" ? step(first?.id ?? "", start) : "",
      entries,
    ),
  );
}

/**
 * The changes in one revision; nothing if there are none.
 * @param {KindText} kind
 * @param {Item} item
 * @param {Comparison} comparison
 * @param {Mark} mark
 */
function stepOf(kind, item, comparison, mark) {
  const changes = comparison.changes.filter((one) => isAbout(kind, item.name, one));
  const isMarked = "ncg".includes(mark);
  if (!changes.length && !isMarked) return null;
  const { before, after, why } = comparison;
  const href = address("compare", `${before}/${after}`, { q: searched(item.name) });
  const lines = changes.map((one) => changeLine(one, why[one.code] ?? ""));
  return step(
    after,
    isMarked ? marked(mark, false) : el("span.mark.changed", {}, "changed inside"),
    " ",
    el("a", { href }, "compared with the revision before"),
    changes.length || mark !== "c" ? el("ul", {}, lines) : el("p.dim", {}, ELSEWHERE),
  );
}

const ELSEWHERE =
  "Its definition is another one. What follows from that is listed at the types that use it.";

/** @param {string} name */
function searched(name) {
  return name.split(":").at(-1) ?? name;
}

/**
 * @param {string} revision
 * @param {(Node | string)[]} content
 */
function step(revision, ...content) {
  return el("li", {}, el("h3", {}, revision), content);
}

/** @type {Record<string, string[]>} */
const CATEGORIES = {
  methods: ["method"],
  types: ["type", "field", "union", "enum"],
  capabilities: ["capability"],
  errors: ["error"],
  headers: ["header"],
  metaKeys: ["meta-key"],
};

/**
 * @param {KindText} kind
 * @param {string} name
 * @param {Change} change
 */
function isAbout(kind, name, change) {
  if (!CATEGORIES[kind.kind]?.includes(change.category)) return false;
  if (kind.kind === "errors") return codesOf(change).includes(name);
  if (kind.kind === "headers") return change.item === name.split(":").reverse().join(":");
  if (kind.kind !== "types") return change.item === name;
  const place = `/$defs/${name}`;
  const pointer = change.pointer ?? "";
  return (
    change.item === name ||
    change.item.startsWith(`${name}.`) ||
    pointer === place ||
    pointer.startsWith(`${place}/`)
  );
}
