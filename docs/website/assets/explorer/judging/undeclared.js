/** The members of a value that no schema declares: a reader keeps them or drops them. */

import { step } from "./json.js";
import { definition, within } from "./explain.js";

/** @import {Json, JsonObject, Schema} from "../types.js" */
/** @import {Checker} from "./checker.js" */
/** @import {Node} from "./explain.js" */

/**
 * @param {Checker} checker
 * @param {Node} node
 * @param {Json} value
 * @param {ReadonlySet<string>} anySchema members that hold a JSON Schema, as `Type.member`
 * @returns {{pointer: string, type: string}[]}
 */
export function undeclared(checker, node, value, anySchema) {
  return [...walk(checker, [node], value, "", anySchema)];
}

/**
 * @param {Checker} checker
 * @param {Node[]} nodes
 * @param {Json} value
 * @param {string} pointer
 * @param {ReadonlySet<string>} anySchema
 * @returns {Generator<{pointer: string, type: string}>}
 */
function* walk(checker, nodes, value, pointer, anySchema) {
  const parts = nodes.flatMap((node) => [...applying(checker, node, value)]);
  if (Array.isArray(value)) {
    const items = parts.filter((one) => one.schema["items"]).map((one) => within(one, "items"));
    for (const [index, item] of value.entries()) {
      yield* walk(checker, items, item, pointer + step(index), anySchema);
    }
  } else if (value && typeof value === "object") {
    yield* members(checker, parts, value, pointer, anySchema);
  }
}

/**
 * @param {Checker} checker
 * @param {Node[]} parts
 * @param {JsonObject} value
 * @param {string} pointer
 * @param {ReadonlySet<string>} anySchema
 * @returns {Generator<{pointer: string, type: string}>}
 */
function* members(checker, parts, value, pointer, anySchema) {
  const declaring = parts.filter((one) => Object.keys(one.schema["properties"] ?? {}).length);
  const maps = parts.filter((one) => isMap(one.schema));
  // An object without declared members is a map, and keys of metadata are free.
  const free = !declaring.length || maps.length > 0 || pointer.endsWith("/_meta");
  for (const [name, member] of Object.entries(value)) {
    const place = pointer + step(name);
    const owners = declaring.filter((one) => Object.hasOwn(one.schema["properties"], name));
    if (owners.some((one) => anySchema.has(`${typeOf(one)}.${name}`))) continue;
    const next = owners.map((one) => within(one, "properties", name));
    if (owners.length) yield* walk(checker, next, member, place, anySchema);
    else if (!free)
      yield { pointer: place, type: declaring.map(typeOf).filter(Boolean).at(-1) ?? "" };
    else {
      const values = maps.map((one) => within(one, "additionalProperties"));
      yield* walk(checker, values, member, place, anySchema);
    }
  }
}

/**
 * The schemas without references and alternatives that apply to a value.
 * @param {Checker} checker
 * @param {Node} node
 * @param {Json} value
 * @returns {Generator<Node>}
 */
function* applying(checker, node, value) {
  const { schema } = node;
  const target = checker.target(schema);
  if (target) yield* applying(checker, definition(checker, target), value);
  for (const index of (schema["allOf"] ?? []).keys()) {
    yield* applying(checker, within(node, "allOf", index), value);
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    for (const index of (schema[keyword] ?? []).keys()) {
      const arm = within(node, keyword, index);
      if (checker.isValid(arm.schema, value)) yield* applying(checker, arm, value);
    }
  }
  yield node;
}

/** @param {Schema} schema */
function isMap(schema) {
  const more = schema["additionalProperties"];
  return typeof more === "object" && Object.keys(more).length > 0;
}

/** @param {Node} node */
function typeOf(node) {
  return node.rule.split("/")[2] ?? "";
}
