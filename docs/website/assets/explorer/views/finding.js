/** One finding about a published schema. */

import { address } from "../address.js";
import { el, json, named, sourceLink } from "../dom.js";

/** @import {Finding} from "../types.js" */

const DEFINITIONS = "/$defs/";

/**
 * The address of a finding, by its place in the schema, which does not depend on other findings.
 * @param {string} of
 * @param {string} pointer
 */
export function findingAddress(of, pointer) {
  return address("findings", `${of}/${pointer.slice(DEFINITIONS.length)}`);
}

/**
 * The finding that an address names.
 * @param {Record<string, Finding[]>} all
 * @param {string} name
 */
export function findingOf(all, name) {
  const [of = "", ...steps] = name.split("/");
  return all[of]?.find((one) => one.pointer === DEFINITIONS + steps.join("/"));
}

/**
 * A finding in a line, with a link to its details.
 * @param {Finding} finding
 */
export function findingSummary(finding) {
  const { of, pointer, reason } = finding;
  return el(
    "li",
    {},
    el("a", { href: findingAddress(of, pointer) }, of, " ", named(placeOf(finding))),
    el("span.doc", {}, reason),
  );
}

/**
 * The place of a finding, shorter than its pointer.
 * @param {Finding} finding
 */
export function placeOf(finding) {
  const steps = finding.pointer.split("/").slice(2);
  return steps
    .filter((one) => one !== "properties")
    .join(".")
    .replaceAll("~1", "/")
    .replaceAll("~0", "~");
}

/**
 * The details of a finding.
 * @param {Finding} finding
 */
export function findingDetails(finding) {
  return [
    el("p.lead", {}, finding.reason),
    el(
      "dl.facts",
      {},
      el("dt", {}, "Type"),
      el("dd", {}, el("a", { href: address("types", finding.type) }, el("code", {}, finding.type))),
      el("dt", {}, "Place in the schema"),
      el("dd", {}, el("code", {}, finding.pointer)),
      el("dt", {}, "Page"),
      el("dd", {}, sourceLink(finding)),
    ),
    el(
      "div.sides",
      {},
      side("As published", "was", finding),
      side("As corrected", "now", finding),
    ),
    ...probe(finding),
  ];
}

/**
 * @param {string} title
 * @param {"was" | "now"} member
 * @param {Finding} finding
 */
function side(title, member, finding) {
  const value = member in finding ? json(finding[member]) : el("p.dim", {}, "Absent.");
  return el("section.side", {}, el("h2", {}, title), value);
}

/** @param {Finding} finding */
function probe({ probe: shown }) {
  const heading = el("h2", {}, "Probe");
  if (!shown) {
    const none =
      "We know no value that one schema accepts and the other refuses.";
    return [heading, el("p.dim", {}, none)];
  }
  const [accepting, refusing] = ["the published schema", "the one with our correction"];
  const verdicts = shown.published
    ? `It is accepted by ${accepting}, and refused by ${refusing}.`
    : `It is refused by ${accepting}, and accepted by ${refusing}.`;
  const text = JSON.stringify(shown.value);
  const link = text.includes('"jsonrpc"')
    ? el(
        "p",
        {},
        el("a", { href: address("judge", "", { m: text }) }, "Judge it in every revision"),
      )
    : "";
  return [
    heading,
    el("p", {}, `A value of the type ${shown.type}. ${verdicts}`),
    json(shown.value),
    link,
  ];
}
