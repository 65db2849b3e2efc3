/** The type of a member as text, with links to other types. */

import { address } from "../address.js";
import { el } from "../dom.js";

/** @import {Child} from "../dom.js" */
/** @import {Expression, Member} from "../types.js" */

/**
 * @param {string} name
 * @param {string} side the revision or extension in which it is shown
 */
export function typeLink(name, side) {
  return el("a", { href: address("types", name, { rev: side }) }, el("code", {}, name));
}

/**
 * @param {Expression} one
 * @param {string} side
 * @returns {Child[]}
 */
export function expression(one, side) {
  if ("ref" in one) return [typeLink(one.ref, side)];
  if ("scalar" in one) return [one.scalar];
  if ("list" in one) return ["list of ", ...inner(one.list, side)];
  if ("map" in one)
    return isAnything(one.map) ? ["object"] : ["object of ", ...inner(one.map, side)];
  if ("any" in one) return joined(one.any.map((arm) => expression(arm, side)));
  return joined(one.constants.map((value) => [el("code", {}, JSON.stringify(value))]));
}

/**
 * The type inside a list or an object, with alternatives in brackets.
 * @param {Expression} one
 * @param {string} side
 * @returns {Child[]}
 */
function inner(one, side) {
  const text = expression(one, side);
  return "any" in one ? ["(", ...text, ")"] : text;
}

/** @param {Expression} one */
function isAnything(one) {
  return "scalar" in one && one.scalar === "any JSON value";
}

/** @param {Child[][]} parts */
function joined(parts) {
  return parts.flatMap((part, at) => (at ? [" or ", ...part] : part));
}

/** @type {Record<string, string>} */
const BOUNDS = {
  minimum: "at least",
  maximum: "at most",
  minLength: "characters, at least",
  maxLength: "characters, at most",
  minItems: "items, at least",
  maxItems: "items, at most",
  pattern: "matches",
  format: "format",
};

/**
 * The bounds and the known values of a member.
 * @param {Member} member
 * @returns {HTMLElement[]}
 */
export function limits(member) {
  const bounds = Object.entries(member.constraints ?? {}).map(([keyword, bound]) =>
    el("span.limit", {}, `${BOUNDS[keyword] ?? keyword} ${bound}`),
  );
  if (member.known) bounds.push(el("span.limit", {}, `known values: ${member.known.join(", ")}`));
  return bounds;
}
