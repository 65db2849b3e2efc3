/** The details of an item in one revision or extension. */

import { address } from "../address.js";
import { el, json, named, prose, row, sourceLink, table } from "../dom.js";
import { expression, limits, typeLink } from "./expression.js";

/** @import {Child} from "../dom.js" */
/** @import {Capability, Condition, ErrorCode, Extension, Gate, Header, Kind} from "../types.js" */
/** @import {Member, MetaKey, Method, ProtocolType, Revision, Schema} from "../types.js" */

/**
 * A revision or an extension, under the name that addresses have for it.
 * @typedef {{name: string, revision: Revision, extension?: Extension}} Side
 */

/** @type {Record<Kind, (name: string, side: Side) => Child[]>} */
const DETAILS = {
  methods: methodDetails,
  types: typeDetails,
  capabilities: capabilityDetails,
  errors: errorDetails,
  headers: headerDetails,
  metaKeys: metaKeyDetails,
};

/**
 * @param {Kind} kind
 * @param {string} name
 * @param {Side} side
 */
export function details(kind, name, side) {
  return DETAILS[kind](name, side);
}

/**
 * A list of facts, without empty ones.
 * @param {[string, Child[]][]} entries
 */
function facts(entries) {
  const known = entries.filter(([, value]) => value.some(Boolean));
  return el(
    "dl.facts",
    {},
    known.flatMap(([term, value]) => [el("dt", {}, term), el("dd", {}, value)]),
  );
}

/**
 * @template Found
 * @param {Found[] | undefined} own
 * @param {Found[]} core
 * @param {(one: Found) => boolean} wanted
 * @returns {Found}
 */
function found(own, core, wanted) {
  const one = [...(own ?? []), ...core].find(wanted);
  if (!one) throw new Error("this revision does not have it");
  return one;
}

/** @type {Record<string, string>} */
const PHASES = {
  any: "at any time",
  before_ready: "before the handshake is over",
  ready: "after the handshake",
};

/**
 * @param {string} name
 * @param {Side} side
 */
function methodDetails(name, side) {
  const one = found(side.extension?.methods, side.revision.methods, (each) => each.name === name);
  const kind = one.kind === "embedded" ? "request inside of a result" : one.kind;
  const claimed = side.extension?.claims.find((each) => each.method === name)?.results ?? [];
  return [
    el("p", {}, prose(one.doc)),
    facts([
      ["Kind", [kind]],
      ["Sent by", [one.senders.join(" and ")]],
      ["Message", [typeLink(one.message, side.name)]],
      [
        "Params",
        [
          typeLink(one.params, side.name),
          one.paramsRequired ? " (required)" : " (may be left out)",
        ],
      ],
      ["Result", links([...one.results, ...claimed], side.name)],
      ["May be sent", [PHASES[one.phase] ?? one.phase]],
      ["Traits", [one.traits.map((trait) => trait.replaceAll("_", " ")).join(", ")]],
      ["Deprecated", [one.deprecated && `since ${one.deprecated}`]],
      ["Page", [sourceLink(one)]],
    ]),
    ...gates(one, side.name),
    ...methodErrors(one, side.name),
  ];
}

/**
 * @param {string[]} names
 * @param {string} side
 * @returns {Child[]}
 */
function links(names, side) {
  return names.flatMap((name, at) => [at ? " or " : "", typeLink(name, side)]);
}

/**
 * @param {Method} method
 * @param {string} side
 */
function gates(method, side) {
  if (!method.gates.length) return [];
  const rows = method.gates.map((gate) =>
    row(
      capabilityLink(gate, side),
      `${gate.level}, for the ${gate.sender}`,
      conditions(gate.when),
      sourceLink(gate),
    ),
  );
  const heads = ["Capability", "Level", "When", "Page"];
  return [el("h3", {}, "Capabilities that have to be declared"), table("Gates", heads, rows)];
}

/**
 * @param {Pick<Gate, "role" | "path">} gate
 * @param {string} side
 */
export function capabilityLink({ role, path }, side) {
  const name = `${role}:${path.join(".")}`;
  return el("a", { href: address("capabilities", name, { rev: side }) }, named(name));
}

/** @param {Condition[]} when */
export function conditions(when) {
  if (!when.length) return "always";
  return when
    .map(({ member, oneOf, orAbsent }) => {
      const value = oneOf
        ? `params.${member} is ${oneOf.join(" or ")}`
        : `params.${member} is given`;
      return orAbsent ? `${value}, or absent` : value;
    })
    .join("; or ");
}

/**
 * @param {Method} method
 * @param {string} side
 */
function methodErrors(method, side) {
  if (!method.errors.length) return [];
  const rows = method.errors.map((one) =>
    row(
      el("a", { href: address("errors", String(one.code), { rev: side }) }, String(one.code)),
      one.when,
      one.level,
    ),
  );
  return [el("h3", {}, "Errors of this method"), table("Errors", ["Code", "When", "Level"], rows)];
}

/**
 * @param {string} name
 * @param {Side} side
 */
function typeDetails(name, side) {
  const { revision, extension } = side;
  const one = found(extension?.types, revision.types, (each) => each.name === name);
  const mended = extension?.schemas.mended[name] ?? revision.schemas.mended[name];
  const published = extension?.schemas.published[name] ?? revision.schemas.published[name];
  const unnamed = "It is inside another type and has no name in the schema.";
  return [
    one.doc && el("p", {}, prose(one.doc)),
    ...shapeOf(one, side.name),
    mended ? schema(published ? "JSON Schema, with our corrections" : "JSON Schema", mended) : null,
    published ? schema("JSON Schema, as it is published", published) : null,
    mended ? null : el("p.dim", {}, unnamed),
  ];
}

/**
 * @param {string} title
 * @param {Schema} one
 */
function schema(title, one) {
  return el("details", {}, el("summary", {}, title), json(one));
}

/**
 * @param {ProtocolType} one
 * @param {string} side
 * @returns {Child[]}
 */
function shapeOf(one, side) {
  const said = [
    one.deprecated && "This type is deprecated.",
    one.open && "It may have other members: that is intended.",
  ].filter(Boolean);
  const head = said.length ? [el("p.dim", {}, said.join(" "))] : [];
  if (one.members) {
    const rows = one.members.map((member) => memberRow(member, side));
    const least =
      one.oneRequired && el("p", {}, `At least one of ${one.oneRequired.join(", ")} is required.`);
    const members = rows.length
      ? table(`Members of ${one.name}`, ["Member", "Type", "About it"], rows, "members")
      : el("p", {}, "It declares no members.");
    return [...head, members, least];
  }
  const arms = one.arms ?? ("is" in one && one.is ? [one.is] : []);
  const tag = one.tag
    ? [el("p", {}, "The member ", el("code", {}, one.tag), " tells them apart.")]
    : [];
  const intro = one.kind === "union" ? "One of:" : "It is:";
  return [
    ...head,
    el("p", {}, intro),
    el(
      "ul",
      {},
      arms.map((arm) => el("li", {}, expression(arm, side))),
    ),
    ...tag,
  ];
}

/**
 * @param {Member} member
 * @param {string} side
 */
function memberRow(member, side) {
  const required = member.required
    ? el("span.tag.required", {}, "required")
    : el("span.tag.optional", {}, "optional");
  const head = [el("code", {}, member.name), " ", required];
  const type = [...expression(member.type, side), member.nullable ? " or null" : ""];
  const about = [
    member.deprecated && el("span.tag", {}, "deprecated"),
    ...prose(member.doc),
    ...limits(member),
  ];
  return row(head, type, about);
}

/**
 * @param {string} name
 * @param {Side} side
 */
function capabilityDetails(name, side) {
  const wanted = (/** @type {Capability} */ each) => `${each.role}:${each.path.join(".")}` === name;
  const one = found(side.extension?.capabilities, side.revision.capabilities, wanted);
  const methods = [...(side.extension?.methods ?? []), ...side.revision.methods];
  const needing = methods.flatMap((method) =>
    method.gates
      .filter((gate) => `${gate.role}:${gate.path.join(".")}` === name)
      .map((gate) => ({ method, gate })),
  );
  const rows = needing.map(({ method, gate }) =>
    row(
      el("a", { href: address("methods", method.name, { rev: side.name }) }, named(method.name)),
      gate.sender,
      gate.level,
      conditions(gate.when),
      sourceLink(gate),
    ),
  );
  return [
    el("p", {}, prose(one.doc)),
    facts([
      ["Declared by", [one.role]],
      ["How", [one.flag ? "by a member that is true" : "by a member that is there"]],
      ["Implied", [one.implied && "also by an empty object around it"]],
      ["Page", [sourceLink(one)]],
    ]),
    el("h3", {}, "Methods that need it"),
    rows.length
      ? table("Methods that need it", ["Method", "To be sent by", "Level", "When", "Page"], rows)
      : el("p", {}, "No method needs it by itself."),
  ];
}

/** @type {Record<string, string>} */
const SENDERS = {
  client: "client",
  server: "server",
  both: "client and server",
  never: "no longer sent; receivers understand it",
};

/**
 * @param {string} name
 * @param {Side} side
 */
function errorDetails(name, side) {
  const one = found(
    [],
    side.revision.errors,
    (/** @type {ErrorCode} */ each) => String(each.code) === name,
  );
  const code = Number(name);
  const rows = side.revision.methods.flatMap((method) =>
    method.errors
      .filter((each) => each.code === code)
      .map((each) =>
        row(
          el(
            "a",
            { href: address("methods", method.name, { rev: side.name }) },
            named(method.name),
          ),
          each.when,
          each.level,
        ),
      ),
  );
  return [
    el("p", {}, el("strong", {}, one.name), ": ", prose(one.doc)),
    facts([
      ["Sent by", [SENDERS[one.emit] ?? one.emit]],
      ["HTTP status", [one.status === null ? "not specified" : String(one.status)]],
      ["Data", [one.data && typeLink(one.data, side.name)]],
      ["Page", [sourceLink(one)]],
    ]),
    ...(rows.length
      ? [
          el("h3", {}, "Methods that answer with it"),
          table("Methods that answer with it", ["Method", "When", "Level"], rows),
        ]
      : []),
  ];
}

/**
 * @param {string} name
 * @param {Side} side
 */
function headerDetails(name, side) {
  const one = found(
    [],
    side.revision.headers,
    (/** @type {Header} */ each) => `${each.direction}:${each.name}` === name,
  );
  return [
    facts([
      ["In", [one.direction === "request" ? "requests of clients" : "responses of servers"]],
      ["Level", [one.level]],
      ["When", [one.when || "always"]],
      ["Page", [sourceLink(one)]],
    ]),
  ];
}

/**
 * @param {string} name
 * @param {Side} side
 */
function metaKeyDetails(name, side) {
  const one = found([], side.revision.metaKeys, (/** @type {MetaKey} */ each) => each.key === name);
  const named = one.type.replace(/\W+$/, "");
  const around = one.type.slice(named.length);
  const type = /^[A-Z]/.test(named) ? [typeLink(named, side.name), around] : [one.type];
  return [
    facts([
      ["Carried by", [one.on.map((each) => (/^[A-Z]/.test(each) ? each : `${each}s`)).join(", ")]],
      ["Only", links(one.of, side.name)],
      ["Type", type],
      ["Required", [one.required ? "yes" : "no"]],
      ["Page", [sourceLink(one)]],
    ]),
  ];
}
