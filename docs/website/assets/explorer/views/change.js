/** A change between two revisions, with its severity for each reader. */

import { address } from "../address.js";
import { el, named, spoken } from "../dom.js";

/** @import {Child} from "../dom.js" */
/** @import {Change} from "../types.js" */

/** @type {Record<string, string>} */
export const SEVERITIES = { b: "breaking", w: "warning", i: "info", n: "none" };
export const READERS = ["client", "server", "sdk", "gateway"];
/** @type {Record<string, string>} */
const VIEWS = {
  method: "methods",
  type: "types",
  field: "types",
  union: "types",
  enum: "types",
  capability: "capabilities",
  error: "errors",
  "meta-key": "meta",
  header: "headers",
};
/** @type {Record<string, (change: Change) => string>} */
const NAMES = {
  type: typeOf,
  field: typeOf,
  union: typeOf,
  enum: typeOf,
  error: (change) => codesOf(change).at(-1) ?? "",
  header: ({ item }) => item.split(":").reverse().join(":"),
};

/**
 * The severity of a change for a reader, or the worst one, as its letter.
 * @param {Change} change
 * @param {string} [reader]
 */
export function severityOf(change, reader = "") {
  const at = READERS.indexOf(reader);
  if (at >= 0) return change.severity[at] ?? "n";
  return Object.keys(SEVERITIES).find((letter) => change.severity.includes(letter)) ?? "n";
}

/** @param {string} letter */
export function severityTag(letter) {
  const word = SEVERITIES[letter] ?? "none";
  return el(`span.severity.${word}`, {}, word);
}

/** @param {Change} change */
export function itemLink(change) {
  const view = VIEWS[change.category];
  const name = named(change.item);
  if (!view) return name;
  const target = (NAMES[change.category] ?? plainName)(change);
  return el("a", { href: address(view, target) }, name);
}

/**
 * The codes of an error that a change is about; its item is a name if the code has changed.
 * @param {Change} change
 */
export function codesOf({ item, before, after }) {
  return /^-?\d/.test(item) ? item.split(" ").slice(0, 1) : [before ?? "", after ?? ""];
}

/** @param {Change} change */
function plainName({ item }) {
  return item;
}

/** @param {Change} change */
function typeOf(change) {
  const [, , owner] = (change.pointer ?? "").split("/");
  return owner || (change.item.split(".")[0] ?? "");
}

/**
 * The sides of a change: one or two.
 * @param {Change} change
 * @returns {Child[]}
 */
export function sides({ before, after }) {
  return [
    before && el("del", {}, spoken("before: "), before),
    before && after ? " " : "",
    after && el("ins", {}, spoken("after: "), after),
  ];
}

/**
 * @param {Change} change
 * @param {string} why
 */
export function changeLine(change, why) {
  return el(
    "li.change",
    {},
    severityTag(severityOf(change)),
    " ",
    itemLink(change),
    ` ${change.message} `,
    sides(change),
    el("span.why", {}, why),
  );
}
