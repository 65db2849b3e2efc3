/** What happened to one item, from revision to revision. */

import { address } from "../address.js";
import * as data from "../data.js";
import { el } from "../dom.js";
import { markOf, marked } from "../marks.js";
import { changeLine } from "./change.js";

/** @import {KindText} from "../kinds.js" */
/** @import {Change, Index, Item} from "../types.js" */

/**
 * @param {Index} index
 * @param {KindText} kind
 * @param {Item} item
 */
export async function changesOf(index, kind, item) {
  const steps = index.revisions.slice(1).map((after, at) => [index.revisions[at]?.id ?? "", after.id]);
  const found = await Promise.all(steps.map(([before = "", after = ""]) => data.comparison(before, after)));
  const [first] = index.revisions;
  const start = markOf(item.marks, 0) === "s" ? [step(first?.id ?? "", el("p", {}, "It is in the first revision."))] : [];
  const entries = found.map((comparison, at) => {
    const mark = markOf(item.marks, at + 1);
    const changes = comparison.changes.filter((one) => isAbout(kind, item.name, one));
    if (!changes.length && !"ncg".includes(mark)) return null;
    const link = el("a", { href: address("compare", `${comparison.before}/${comparison.after}`, { q: searched(item.name) }) }, "compared with the revision before");
    const lines = el("ul", {}, changes.map((one) => changeLine(one, comparison.why[one.code] ?? "")));
    const word = "ncg".includes(mark) ? marked(mark, false) : el("span.mark.changed", {}, "changed inside");
    return step(comparison.after, word, " ", link, changes.length || mark !== "c" ? lines : el("p.dim", {}, ELSEWHERE));
  });
  return el(
    "section",
    { "aria-labelledby": "history" },
    el("h2", { id: "history" }, "History"),
    el("ol.history", {}, [...start, ...entries]),
  );
}

const ELSEWHERE = "Its definition is another one. What follows from that is listed at the types that use it.";

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
  if (kind.kind === "errors") return change.item.split(" ")[0] === name;
  if (kind.kind === "headers") return change.item === name.split(":").reverse().join(":");
  if (kind.kind !== "types") return change.item === name;
  const place = `/$defs/${name}`;
  const pointer = change.pointer ?? "";
  return change.item === name || change.item.startsWith(`${name}.`) || pointer === place || pointer.startsWith(`${place}/`);
}
