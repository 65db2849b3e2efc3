/**
 * Reasons for a refusal: the places at fault, with their rules and types.
 *
 * The validator only decides. This follows the refusing parts of a schema, and calls the validator
 * for one keyword at a time.
 */

import { step } from "./json.js";
import { referring } from "./checker.js";

/** @import {Fault, Json, JsonObject, Schema} from "../types.js" */
/** @import {Checker} from "./checker.js" */

/**
 * A schema, and the JSON Pointer that leads to it; empty for a schema outside of the file.
 * @typedef {{schema: Schema, rule: string}} Node
 */

/** @type {Record<string, (bound: any) => string>} */
const WORDS = {
  const: (bound) => `must be ${JSON.stringify(bound)}`,
  enum: (bound) =>
    `must be one of ${bound.map((/** @type {Json} */ one) => JSON.stringify(one)).join(", ")}`,
  minimum: (bound) => `must be at least ${bound}`,
  maximum: (bound) => `must be at most ${bound}`,
  exclusiveMinimum: (bound) => `must be more than ${bound}`,
  exclusiveMaximum: (bound) => `must be less than ${bound}`,
  multipleOf: (bound) => `must be a multiple of ${bound}`,
  minLength: (bound) => `must have at least ${bound} characters`,
  maxLength: (bound) => `must have at most ${bound} characters`,
  minItems: (bound) => `must have at least ${bound} items`,
  maxItems: (bound) => `must have at most ${bound} items`,
  minProperties: (bound) => `must have at least ${bound} members`,
  maxProperties: (bound) => `must have at most ${bound} members`,
  pattern: (bound) => `must match ${bound}`,
  uniqueItems: () => "has the same item twice",
  not: () => "must not be given like this",
  propertyNames: () => "has a member with a name that is not allowed",
  contains: () => "lacks a required item",
};

/** @type {("anyOf" | "oneOf")[]} */
const ALTERNATIVES = ["anyOf", "oneOf"];

/**
 * The kind of a value, in the words of JSON Schema.
 * @param {Json} value
 */
function kindOf(value) {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}

/**
 * The faults of a value in their order; none if it is valid.
 * @param {Checker} checker
 * @param {Node} node
 * @param {Json} value
 * @param {string} [pointer] where the value is in the whole message
 * @returns {Fault[]}
 */
export function faultsOf(checker, node, value, pointer = "") {
  if (checker.isValid(node.schema, value)) return [];
  const further = pointer.split("/").length <= checker.deepest;
  const found = further ? [...inside(checker, node, value, pointer)] : [];
  if (!found.length) found.push(fault(node, "", pointer, "is not what the schema describes"));
  if (found.length === 1) return found;
  const known = new Set();
  return found.filter((one) => {
    const key = `${one.pointer} ${one.message}`;
    return !known.has(key) && known.add(key);
  });
}

/**
 * The place in the schema that a reference leads to.
 * @param {Checker} checker
 * @param {string} name
 * @returns {Node}
 */
export function definition(checker, name) {
  return { schema: checker.definitions[name] ?? referring(name), rule: `/$defs${step(name)}` };
}

/**
 * A schema within another one.
 * @param {Node} node
 * @param {(string | number)[]} steps
 * @returns {Node}
 */
export function within(node, ...steps) {
  /** @type {any} */
  let schema = node.schema;
  for (const one of steps) schema = schema[one];
  return { schema, rule: node.rule + steps.map(step).join("") };
}

/**
 * @param {Checker} checker
 * @param {Node} node
 * @param {Json} value
 * @param {string} pointer
 * @returns {Generator<Fault>}
 */
function* inside(checker, node, value, pointer) {
  const { schema } = node;
  const target = checker.target(schema);
  if (target) yield* faultsOf(checker, definition(checker, target), value, pointer);
  for (const index of (schema["allOf"] ?? []).keys()) {
    yield* faultsOf(checker, within(node, "allOf", index), value, pointer);
  }
  for (const keyword of ALTERNATIVES) {
    if (!checker.hasAlternative(schema, keyword, value)) {
      yield* alternatives(checker, node, keyword, value, pointer);
    }
  }
  yield* bounds(checker, node, value, pointer);
  if (Array.isArray(value)) yield* items(checker, node, value, pointer);
  else if (value && typeof value === "object") yield* members(checker, node, value, pointer);
}

/**
 * The faults that simple keywords find.
 * @param {Checker} checker
 * @param {Node} node
 * @param {Json} value
 * @param {string} pointer
 * @returns {Generator<Fault>}
 */
function* bounds(checker, node, value, pointer) {
  const { schema } = node;
  if (schema["type"] && !checker.keeps({ type: schema["type"] }, value)) {
    const wanted = [schema["type"]].flat().join(" or ");
    yield fault(node, "type", pointer, `must be ${wanted}, not ${kindOf(value)}`);
    return;
  }
  for (const [keyword, bound] of Object.entries(schema)) {
    const words = WORDS[keyword];
    if (words && !checker.keeps({ [keyword]: bound }, value)) {
      yield fault(node, keyword, pointer, words(bound));
    }
  }
}

/**
 * @param {Checker} checker
 * @param {Node} node
 * @param {JsonObject} value
 * @param {string} pointer
 * @returns {Generator<Fault>}
 */
function* members(checker, node, value, pointer) {
  const { schema } = node;
  for (const name of schema["required"] ?? []) {
    if (!Object.hasOwn(value, name)) yield fault(node, "required", pointer, `lacks “${name}”`);
  }
  const declared = schema["properties"] ?? {};
  for (const [name, member] of Object.entries(value)) {
    const place = pointer + step(name);
    if (Object.hasOwn(declared, name)) {
      yield* faultsOf(checker, within(node, "properties", name), member, place);
    } else if (schema["additionalProperties"] === false) {
      yield fault(node, "additionalProperties", place, "is not allowed here");
    } else if (schema["additionalProperties"] !== undefined) {
      yield* faultsOf(checker, within(node, "additionalProperties"), member, place);
    }
  }
}

/**
 * @param {Checker} checker
 * @param {Node} node
 * @param {Json[]} value
 * @param {string} pointer
 * @returns {Generator<Fault>}
 */
function* items(checker, node, value, pointer) {
  if (node.schema["items"] === undefined) return;
  for (const [index, item] of value.entries()) {
    yield* faultsOf(checker, within(node, "items"), item, pointer + step(index));
  }
}

/**
 * The faults of the nearest alternative, or one fault if none is nearest.
 * @param {Checker} checker
 * @param {Node} node
 * @param {string} keyword
 * @param {Json} value
 * @param {string} pointer
 * @returns {Generator<Fault>}
 */
function* alternatives(checker, node, keyword, value, pointer) {
  /** @type {Node[]} */
  const arms = node.schema[keyword].map((/** @type {Schema} */ _, /** @type {number} */ index) =>
    within(node, keyword, index),
  );
  const tried = arms.map((arm) => attempt(checker, arm, value, pointer)).sort(closer);
  const [best, next] = tried;
  if (best && best.far > 0 && (!next || closer(best, next) < 0)) {
    yield* best.faults;
    return;
  }
  const told = tagFault(checker, node, keyword, value, pointer);
  if (told) {
    yield told;
    return;
  }
  const names = [...new Set(arms.map((arm) => checker.target(arm.schema) || spelled(arm.schema)))];
  const needed = arms.every((arm) => arm.schema["required"])
    ? "must have one of"
    : "matches none of";
  yield fault(node, keyword, pointer, `${needed} ${names.join(", ")}`);
}

/**
 * How well a value fits an alternative that refuses it.
 * @typedef {{faults: Fault[], far: number, known: number}} Attempt
 */

/**
 * @param {Checker} checker
 * @param {Node} arm
 * @param {Json} value
 * @param {string} pointer
 * @returns {Attempt}
 */
function attempt(checker, arm, value, pointer) {
  const faults = faultsOf(checker, arm, value, pointer);
  const declared = membersOf(checker, arm.schema).map(([name]) => name);
  const given = value && typeof value === "object" ? Object.keys(value) : [];
  return {
    faults,
    far: Math.min(...faults.map((one) => reach(one, pointer))),
    known: given.filter((name) => declared.includes(name)).length,
  };
}

/**
 * @param {Attempt} one
 * @param {Attempt} other
 */
function closer(one, other) {
  return other.far - one.far || other.known - one.known || one.faults.length - other.faults.length;
}

/**
 * The fault of the member whose constant tells the alternatives apart, if there is one.
 * @param {Checker} checker
 * @param {Node} node
 * @param {string} keyword
 * @param {Json} value
 * @param {string} pointer
 * @returns {Fault | undefined}
 */
function tagFault(checker, node, keyword, value, pointer) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return undefined;
  /** @type {Map<string, Json>[]} */
  const constants = node.schema[keyword].map((/** @type {Schema} */ arm) =>
    constantsOf(checker, arm),
  );
  const [first = new Map()] = constants;
  const tag = [...first.keys()].find((name) => constants.every((one) => one.has(name)));
  const known = [...new Set(constants.map((one) => one.get(tag ?? "")))];
  if (tag === undefined || !Object.hasOwn(value, tag) || known.includes(value[tag]))
    return undefined;
  const words = known.map((one) => JSON.stringify(one)).join(", ");
  return fault(node, keyword, pointer + step(tag), `must be one of ${words}`);
}

/**
 * The members of an object that are constants.
 * @param {Checker} checker
 * @param {Schema} schema
 * @returns {Map<string, Json>}
 */
function constantsOf(checker, schema) {
  const constant = membersOf(checker, schema).filter(([, one]) => Object.hasOwn(one, "const"));
  return new Map(constant.map(([name, one]) => [name, one["const"]]));
}

/**
 * The members that a schema or its references declare.
 * @param {Checker} checker
 * @param {Schema} schema
 * @returns {[string, Schema][]}
 */
function membersOf(checker, schema) {
  const target = checker.target(schema);
  const inner = [
    ...(schema["allOf"] ?? []),
    ...(target ? [checker.definitions[target] ?? {}] : []),
  ];
  return [
    ...inner.flatMap((one) => membersOf(checker, one)),
    ...Object.entries(schema["properties"] ?? {}),
  ];
}

/**
 * How far a fault is from being of quite another kind: 0 if it is, or if a constant tells so.
 * @param {Fault} one
 * @param {string} pointer
 */
function reach(one, pointer) {
  if (one.pointer === pointer && /\/(type|const|enum)$/.test(one.rule)) return 0;
  const deeper = one.pointer.slice(pointer.length).split("/").length - 1;
  if (deeper === 1 && one.rule.endsWith("/const")) return 0;
  return 1 + deeper;
}

/**
 * @param {Schema} schema
 * @returns {string}
 */
function spelled(schema) {
  if (schema["const"] !== undefined) return JSON.stringify(schema["const"]);
  if (schema["required"]) return schema["required"].join(" and ");
  return [schema["type"] ?? "other values"].flat().join(" or ");
}

/**
 * @param {Node} node
 * @param {string} keyword
 * @param {string} pointer
 * @param {string} message
 * @returns {Fault}
 */
function fault(node, keyword, pointer, message) {
  const rule = node.rule && keyword ? node.rule + step(keyword) : node.rule;
  const [, , name = ""] = node.rule.split("/");
  return { pointer, message, rule, type: name.replaceAll("~1", "/").replaceAll("~0", "~") };
}
