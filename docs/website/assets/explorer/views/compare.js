/** Two revisions side by side: everything that changed, by severity. */

import { address, current, remember } from "../address.js";
import * as data from "../data.js";
import { el, filterForm, holds, plainOptions, row, searchField, select, table } from "../dom.js";
import { READERS, SEVERITIES, itemLink, severityOf, severityTag, sides } from "./change.js";

/** @import {Address} from "../address.js" */
/** @import {Change, Comparison, Index} from "../types.js" */

/** @type {Record<string, string>} */
const MEANINGS = {
  breaking: "What worked before fails or is refused.",
  warning: "What worked before still works, but has another meaning or lacks something.",
  info: "Something to know, or to use.",
  none: "Irrelevant to this reader.",
};

/** @typedef {{for: string, q: string, only: string}} Chosen */

/**
 * @param {Index} index
 * @param {Address} place
 */
export async function compareView(index, place) {
  const [before, after] = pairOf(index, place.name);
  const comparison = await data.comparison(before, after);
  const shown = el("div");
  const count = el("p.count", { role: "status" });
  const [reader, q, only] = ["for", "q", "only"].map((name) => place.query.get(name) ?? "");
  /** @type {Chosen} */
  const chosen = { for: reader ?? "", q: q ?? "", only: only ?? "" };
  const update = () => {
    const found = comparison.changes.filter((one) => isWanted(one, chosen));
    shown.replaceChildren(...sections(comparison, found, chosen.for));
    count.textContent = `${found.length} of ${comparison.changes.length} changes`;
  };
  const pick = (/** @type {Partial<Chosen>} */ some) => {
    remember(Object.assign(chosen, some));
    update();
  };
  update();
  const sides = [
    sideChoice(index, "Before", before, after),
    sideChoice(index, "After", after, before),
  ];
  const form = filterForm("What to compare", ...sides, ...choices(chosen, pick), count);
  return { title: `${before} → ${after}`, content: [form, ...features(comparison), shown] };
}

/**
 * @param {Chosen} chosen
 * @param {(some: Partial<Chosen>) => void} pick
 */
function choices(chosen, pick) {
  const text = searchField(chosen.q, () => pick({ q: text.value }));
  return [
    select({
      label: "Judged for",
      options: [["", "everybody"], ...readerOptions()],
      value: chosen.for,
      change: (value) => pick({ for: value }),
    }),
    select({
      label: "Severity",
      options: [["", "all"], ...plainOptions(Object.values(SEVERITIES))],
      value: chosen.only,
      change: (value) => pick({ only: value }),
    }),
    el("label.choice", {}, el("span", {}, "Name or text"), text),
  ];
}

/** @returns {[string, string][]} */
function readerOptions() {
  return READERS.map((one) => [one, `authors of a ${readerName(one)}`]);
}

/** @param {string} reader */
function readerName(reader) {
  return reader === "sdk" ? "SDK" : reader;
}

/**
 * The pair that an address names, or the two newest revisions; the older one is before.
 * @param {Index} index
 * @param {string} name
 * @returns {[string, string]}
 */
function pairOf(index, name) {
  const [one = "", other = ""] = name.split("/");
  const found = index.pairs.find(([before, after]) => before === one && after === other);
  const turned = index.pairs.find(([before, after]) => before === other && after === one);
  const [before, after] = index.revisions.slice(-2).map((each) => each.id);
  return found ?? turned ?? [before ?? "", after ?? ""];
}

/**
 * @param {Index} index
 * @param {"Before" | "After"} label
 * @param {string} value
 * @param {string} other
 */
function sideChoice(index, label, value, other) {
  const names = new Set(index.pairs.flat());
  names.delete(other);
  const known = (/** @type {string} */ one) =>
    index.pairs.some((pair) => pair.includes(one) && pair.includes(other));
  return select({
    label,
    options: plainOptions([...names].filter(known).sort()),
    value,
    change: (chosen) => {
      const pair = label === "Before" ? `${chosen}/${other}` : `${other}/${chosen}`;
      location.hash = address("compare", pair, Object.fromEntries(current().query));
    },
  });
}

/**
 * @param {Change} change
 * @param {Chosen} chosen
 */
function isWanted(change, chosen) {
  const letter = severityOf(change, chosen.for);
  if (chosen.only ? SEVERITIES[letter] !== chosen.only : chosen.for && letter === "n") return false;
  return holds(Object.values(change).join(" "), chosen.q);
}

/** @param {Comparison} comparison */
function features({ came, went }) {
  const told = [
    came.length ? `New: ${came.join(", ")}.` : "",
    went.length ? `Gone: ${went.join(", ")}.` : "",
  ];
  return told.filter(Boolean).map((text) => el("p", {}, text));
}

/**
 * @param {Comparison} comparison
 * @param {Change[]} changes
 * @param {string} reader
 */
function sections(comparison, changes, reader) {
  if (!changes.length) return [el("p", {}, "No change matches.")];
  return Object.entries(SEVERITIES).flatMap(([letter, word]) => {
    const some = changes.filter((one) => severityOf(one, reader) === letter);
    if (!some.length) return [];
    const rows = some.map((one) => changeRow(one, comparison.why[one.code] ?? ""));
    const heads = ["Item", "What", `${comparison.before}`, `${comparison.after}`, "For whom"];
    const title = `${word[0]?.toUpperCase()}${word.slice(1)} (${some.length})`;
    return [
      el("h2", {}, title),
      el("p.dim", {}, MEANINGS[word] ?? ""),
      table(`${title} changes`, heads, rows, "changes"),
    ];
  });
}

/**
 * @param {Change} change
 * @param {string} why
 */
function changeRow(change, why) {
  const [before, , after] = [...sides(change)];
  const readers = READERS.map((reader, at) =>
    el("li", {}, el("span", {}, readerName(reader)), " ", severityTag(change.severity[at] ?? "n")),
  );
  return row(
    itemLink(change),
    [
      change.message,
      change.feature ? el("span.feature", {}, change.feature) : "",
      el("span.why", {}, why),
    ],
    before ?? "",
    after ?? "",
    el("ul.readers", {}, readers),
  );
}
