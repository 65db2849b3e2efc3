/** Two revisions side by side: everything that changed, by severity. */

import { address, remember } from "../address.js";
import * as data from "../data.js";
import { el, row, select, table } from "../dom.js";
import { READERS, SEVERITIES, itemLink, severityOf, severityTag, sides } from "./change.js";

/** @import {Address} from "../address.js" */
/** @import {Change, Comparison, Index} from "../types.js" */

/** @type {Record<string, string>} */
const MEANINGS = {
  breaking: "What worked before fails, or is refused.",
  warning: "What worked before still works, but has another meaning or lacks something.",
  info: "Something to know, or to use.",
  none: "Of no interest to this reader.",
};

/**
 * @param {Index} index
 * @param {Address} place
 */
export async function compareView(index, place) {
  const [before, after] = pairOf(index, place.name);
  const comparison = await data.comparison(before, after);
  const shown = el("div", {});
  const count = el("p.count", { role: "status" });
  const chosen = {
    for: place.query.get("for") ?? "",
    q: place.query.get("q") ?? "",
    only: place.query.get("only") ?? "",
  };
  const update = () => {
    const found = comparison.changes.filter((one) => isWanted(one, chosen));
    shown.replaceChildren(...sections(comparison, found, chosen.for));
    count.textContent = `${found.length} of ${comparison.changes.length} changes`;
    remember(chosen);
  };
  const text = el("input", {
    type: "search",
    value: chosen.q,
    autocomplete: "off",
    input: () => {
      chosen.q = text.value;
      update();
    },
  });
  const pick = (/** @type {"for" | "only"} */ name) => (/** @type {string} */ value) => {
    chosen[name] = value;
    update();
  };
  /** @type {[string, string][]} */
  const readers = [["", "everybody"], ...READERS.map((one) => /** @type {[string, string]} */ ([one, `authors of a ${one === "sdk" ? "SDK" : one}`]))];
  /** @type {[string, string][]} */
  const levels = [["", "all"], ...Object.values(SEVERITIES).map((one) => /** @type {[string, string]} */ ([one, one]))];
  queueMicrotask(update);
  return {
    title: `${before} → ${after}`,
    content: [
      el(
        "form.filters",
        { "aria-label": "What to compare", submit: (event) => event.preventDefault() },
        sideChoice(index, "Before", before, after),
        sideChoice(index, "After", after, before),
        select({ label: "Judged for", options: readers, value: chosen.for, change: pick("for") }),
        select({ label: "Severity", options: levels, value: chosen.only, change: pick("only") }),
        el("label.choice", {}, el("span", {}, "Name or text"), text),
        count,
      ),
      ...features(comparison),
      shown,
    ],
  };
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
    options: [...names].filter(known).sort().map((one) => [one, one]),
    value,
    change: (chosen) => {
      const pair = label === "Before" ? `${chosen}/${other}` : `${other}/${chosen}`;
      location.hash = address("compare", pair, Object.fromEntries(new URLSearchParams(location.hash.split("?")[1])));
    },
  });
}

/**
 * @param {Change} change
 * @param {{for: string, q: string, only: string}} chosen
 */
function isWanted(change, chosen) {
  const letter = severityOf(change, chosen.for);
  if (chosen.only ? SEVERITIES[letter] !== chosen.only : chosen.for && letter === "n") return false;
  const text = Object.values(change).join(" ").toLowerCase();
  return chosen.q.toLowerCase().split(/\s+/).every((word) => text.includes(word));
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
    el("li", {}, el("span", {}, reader === "sdk" ? "SDK" : reader), " ", severityTag(change.severity[at] ?? "n")),
  );
  return row(
    itemLink(change),
    [change.message, change.feature ? el("span.feature", {}, change.feature) : "", el("span.why", {}, why)],
    before ?? "",
    after ?? "",
    el("ul.readers", {}, readers),
  );
}
