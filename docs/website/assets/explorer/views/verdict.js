/** The verdict of one revision. */

import { address } from "../address.js";
import { el, named, row, sourceLink, table } from "../dom.js";
import { capabilityLink, conditions } from "./details.js";
import { findingAddress, placeOf } from "./finding.js";

/** @import {Child} from "../dom.js" */
/** @import {Fault, Place, Verdict} from "../types.js" */

/** The maximum of shown faults, and of shown unknown members. */
const MOST = 50;
/** @type {Record<string, string>} */
const WORDS = { accepted: "accepted", refused: "refused", unknown: "no such method" };

/**
 * @param {Verdict} verdict
 * @param {Map<string, Place>} places
 */
export function verdictView(verdict, places) {
  const { revision, status } = verdict;
  const id = `verdict-${revision}`;
  const extension = verdict.extension
    ? el("span.tag", {}, `with the extension ${verdict.extension}`)
    : "";
  return el(
    `article.verdict.${status}`,
    { "aria-labelledby": id },
    el(
      "h3",
      { id },
      revision,
      " ",
      el(`span.said.${status}`, {}, WORDS[status] ?? status),
      " ",
      extension,
    ),
    subject(verdict),
    ...faults(verdict, places),
    ...unknown(verdict),
    ...gates(verdict),
    ...published(verdict, places),
    verdict.notes.map((note) =>
      el("p.note", {}, note.text, " ", note.url ? el("a", { href: note.url }, "Page") : ""),
    ),
  );
}

/** @param {Verdict} verdict */
function side(verdict) {
  return verdict.extension ? `${verdict.revision}+${verdict.extension}` : verdict.revision;
}

/** @param {Verdict} verdict */
function subject(verdict) {
  const { subject: one, senders } = verdict;
  if (!one?.method)
    return one?.kind === "error" ? el("p", {}, "It is an error, in answer to a request.") : "";
  const link = el(
    "a",
    { href: address("methods", one.method, { rev: side(verdict) }) },
    named(one.method),
  );
  const who = senders.join(" or ");
  return one.kind === "result"
    ? el("p", {}, "It is a result of ", link, `, which a ${who} asks for.`)
    : el("p", {}, `It is the ${one.kind} `, link, `, sent by a ${who}.`);
}

/**
 * @param {Verdict} verdict
 * @param {Map<string, Place>} places
 */
function faults(verdict, places) {
  if (verdict.status !== "unknown") return faultTable(verdict, verdict.faults, places);
  return verdict.faults.map(({ pointer, message }) =>
    el("p", {}, `${pointer === "/method" ? "Its method" : "What it answers"} ${message}.`),
  );
}

/**
 * @param {Verdict} verdict
 * @param {Fault[]} faults
 * @param {Map<string, Place>} places
 */
function faultTable(verdict, faults, places) {
  if (!faults.length) return [];
  const rows = faults.slice(0, MOST).map((one) => {
    const at = places.get(one.pointer);
    const line = at ? `line ${at.line}, column ${at.column}` : "";
    return row(
      [el("code", {}, one.pointer || "the message"), el("span.place", {}, line)],
      one.message,
      rule(verdict, one),
    );
  });
  const more = faults.length - rows.length;
  return [
    table(`Faults in ${verdict.revision}`, ["Where", "What", "Rule"], rows, "faults"),
    more ? el("p.note", {}, `${more} more faults are not shown.`) : "",
  ];
}

/**
 * @param {Verdict} verdict
 * @param {Fault} fault
 * @returns {Child[]}
 */
function rule(verdict, fault) {
  if (!fault.rule) return ["a rule of the protocol or of JSON-RPC"];
  const link = fault.type
    ? el(
        "a",
        { href: address("types", fault.type, { rev: side(verdict) }) },
        el("code", {}, fault.type),
      )
    : "";
  return [link, el("code.rule", {}, fault.rule)];
}

/** @param {Verdict} verdict */
function unknown({ unknown: members }) {
  if (!members.length) return [];
  return [
    el(
      "p.note",
      {},
      "Unknown members: ",
      members.slice(0, MOST).flatMap((one, at) => [
        at ? ", " : "",
        el("code", {}, one.pointer),
        one.type ? ` (not in ${one.type})` : "",
      ]),
      members.length > MOST ? `, and ${members.length - MOST} more.` : ".",
    ),
  ];
}

/** @param {Verdict} verdict */
function gates(verdict) {
  const needed = verdict.gates.filter((one) => one.applies);
  if (!needed.length) return [];
  return [
    el("p", {}, "It may only be sent if these are declared:"),
    el(
      "ul",
      {},
      needed.map((one) =>
        el(
          "li",
          {},
          capabilityLink(one, side(verdict)),
          ` by the ${one.role}, if the ${one.sender} sends it`,
          one.when.length ? ` and ${conditions(one.when)}` : "",
          ` (${one.level}) `,
          sourceLink(one),
        ),
      ),
    ),
  ];
}

/**
 * @param {Verdict} verdict
 * @param {Map<string, Place>} places
 */
function published(verdict, places) {
  const other = verdict.published;
  if (!other) return [];
  const text = other.accepted
    ? "The published schema accepts this; our corrections refuse it: "
    : "The published schema refuses this; we correct it: ";
  const links = other.findings.flatMap((one, number) => [
    number ? ", " : "",
    el("a", { href: findingAddress(one.of, one.pointer) }, named(placeOf(one))),
  ]);
  const faults = faultTable(verdict, other.faults, places);
  return [el("div.published", {}, el("p", {}, text, links, "."), faults)];
}
