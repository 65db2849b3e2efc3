/** Revisions and extensions: their files, and the rules of their messages. */

import { address } from "../address.js";
import { el, prose, row, sourceLink, table } from "../dom.js";

/** @import {Child} from "../dom.js" */
/** @import {Index, Rule} from "../types.js" */

/** @typedef {Index["revisions"][number]} Listed */

/** @type {Record<string, string>} */
const ERAS = {
  handshake: "with `initialize`",
  stateless: "never: every request stands alone",
};

/** @type {Record<string, [string, (rule: Rule) => string]>} */
const RULES = {
  batching: ["Batches", ({ receive, send }) => `${yes(receive)} (sent: ${yes(send)})`],
  server_requests: ["Requests of servers", ({ value }) => yes(value)],
  error_id_optional: ["Errors without an id", ({ value }) => yes(value)],
  polling: ["Servers may close a stream early", ({ value }) => yes(value)],
  bad_arguments: ["Invalid arguments of a tool", ({ value }) => `an ${value}`],
  resource_not_found: ["Code for an unknown resource", ({ value }) => String(value)],
  result_type: ["Kinds of results", ({ values }) => (values ?? []).join(", ")],
};

/** @param {unknown} value */
function yes(value) {
  return value ? "yes" : "no";
}

/** @param {Index} index */
export function revisionsView(index) {
  const { revisions } = index;
  const lead = "The published files, and how messages are sent.";
  const heads = ["What", ...revisions.map((one) => one.id)];
  return {
    title: "Revisions",
    content: [
      el("p.lead", {}, lead),
      table("Revisions", heads, [...files(revisions), ...rules(revisions)], "revisions"),
      el("h2", {}, "Extensions"),
      extensions(index),
    ],
  };
}

/** @param {Listed[]} revisions */
function files(revisions) {
  /** @type {(words: (one: Listed) => Child | Child[]) => (Child | Child[])[]} */
  const each = (words) => revisions.map(words);
  return [
    row("Sessions begin", ...each((one) => prose(ERAS[one.era] ?? one.era))),
    row(
      "Published file",
      ...each(({ pin }) => [el("a", { href: pin.url }, "schema.json"), ` of ${pin.date}`]),
    ),
    row("Publications", ...each((one) => String(one.pin.publications))),
    row("SHA-256", ...each((one) => el("code", {}, one.pin.sha256))),
    row("Findings", ...each((one) => findingsLink(one))),
  ];
}

/** @param {Listed} one */
function findingsLink({ id, findings }) {
  return el("a", { href: address("findings", "", { of: id }) }, String(findings));
}

/** @param {Listed[]} revisions */
function rules(revisions) {
  return Object.entries(RULES).map(([name, [title, words]]) =>
    row(title, ...revisions.map((one) => cell(one.rules[name], words))),
  );
}

/**
 * @param {Rule | undefined} rule
 * @param {(rule: Rule) => string} words
 * @returns {Child[]}
 */
function cell(rule, words) {
  return rule ? [words(rule), el("br"), sourceLink(rule)] : ["–"];
}

/** @param {Index} index */
function extensions(index) {
  const names = [...new Set(index.extensions.map((one) => one.name))];
  const rows = names.map((name) => {
    const some = index.extensions.filter((one) => one.name === name);
    const newest = some.at(-1)?.revision ?? "";
    const link = el(
      "a",
      { href: address("compare", `${newest}/${name}`) },
      `what it adds to ${newest}`,
    );
    const extended = some.map((one) => one.revision).join(", ");
    return row(el("code", {}, some[0]?.identifier ?? ""), name, extended, link);
  });
  return table("Extensions", ["Identifier", "Name here", "Extends", "Comparison"], rows);
}
