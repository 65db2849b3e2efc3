/**
 * Whether values are valid, by the definitions of one schema.
 *
 * The validator is @cfworker/json-schema. It walks the schema, while Ajv makes a function of it,
 * which needs `eval`, and a strict content security policy forbids that. It is also a tenth of the
 * size, has no dependencies, and agrees with `jsonschema` for Python on all our test vectors.
 *
 * Where schemas are in each other, this walks them itself and remembers each answer: explanations
 * ask again of every part of a value, and the validator would go through all of the part each time.
 */

import { dereference, format, validate } from "@cfworker/json-schema";

/** @import {Definitions, Json, Schema} from "../types.js" */

// In the protocol's schemas, formats are annotations: they refuse no value.
for (const name of Object.keys(format)) delete format[name];

const DIALECT = "2020-12";
const PREFIX = "#/$defs/";
// Any address will do, but it must be the same wherever this runs.
const BASE = new URL("https://schema.invalid/");

/** Keywords without schemas in them. */
const SIMPLE = new Set([
  ...["type", "const", "enum", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"],
  ...["multipleOf", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems"],
  ...["minProperties", "maxProperties", "not", "propertyNames", "required"],
]);
/** Keywords whose schemas are walked here. */
const WALKED = new Set(["$ref", "allOf", "anyOf", "oneOf", "properties", "items"]);
WALKED.add("additionalProperties");
const SAID = new Set(["$schema", "title", "description", "default", "format", "deprecated"]);

/**
 * The simple keywords of a schema, if any, and whether it has keywords unknown here.
 * @typedef {{simple: Schema | null, foreign: boolean}} Parts
 */

/** @type {WeakMap<Schema, Parts>} */
const PARTS = new WeakMap();

/**
 * @param {Schema} schema
 * @returns {Parts}
 */
function partsOf(schema) {
  let parts = PARTS.get(schema);
  if (!parts) {
    // The validator writes their places into schemas.
    const names = Object.keys(schema).filter((name) => !name.startsWith("__absolute_"));
    const simple = names.filter((name) => SIMPLE.has(name));
    parts = {
      simple: simple.length ? Object.fromEntries(simple.map((name) => [name, schema[name]])) : null,
      foreign: names.some((name) => !SIMPLE.has(name) && !WALKED.has(name) && !SAID.has(name)),
    };
    PARTS.set(schema, parts);
  }
  return parts;
}

export class Checker {
  /** @param {Definitions} definitions */
  constructor(definitions) {
    this.definitions = definitions;
    /** @type {Record<string, Schema | boolean>} */
    this.lookup = dereference({ $defs: definitions }, Object.create(null), BASE);
    for (const [name, schema] of Object.entries(definitions)) this.lookup[PREFIX + name] = schema;
    /** @type {WeakMap<object, Map<Schema, boolean>>} */
    this.answers = new WeakMap();
    /** The depth to which faults are explained. */
    this.deepest = Infinity;
  }

  /**
   * The same checker with another depth of explanations.
   * @param {number} deepest
   * @returns {Checker}
   */
  upTo(deepest) {
    return Object.assign(Object.create(this), { deepest });
  }

  /**
   * @param {Schema | boolean} schema
   * @param {Json} value
   * @returns {boolean}
   */
  isValid(schema, value) {
    if (typeof schema === "boolean") return schema;
    if (value === null || typeof value !== "object") return this.decided(schema, value);
    let answers = this.answers.get(value);
    if (!answers) this.answers.set(value, (answers = new Map()));
    let answer = answers.get(schema);
    if (answer === undefined) answers.set(schema, (answer = this.decided(schema, value)));
    return answer;
  }

  /**
   * Whether a value is valid by simple keywords alone.
   * @param {Schema} schema
   * @param {Json} value
   */
  keeps(schema, value) {
    return validate(value, schema, DIALECT, this.lookup).valid;
  }

  /**
   * Whether the required number of alternatives accepts a value.
   * @param {Schema} schema
   * @param {"anyOf" | "oneOf"} keyword
   * @param {Json} value
   * @returns {boolean}
   */
  hasAlternative(schema, keyword, value) {
    /** @type {Schema[]} */
    const arms = schema[keyword];
    if (!arms) return true;
    if (keyword === "anyOf") return arms.some((one) => this.isValid(one, value));
    return arms.filter((one) => this.isValid(one, value)).length === 1;
  }

  /**
   * @param {Schema} schema
   * @param {Json} value
   * @returns {boolean}
   */
  decided(schema, value) {
    const { simple, foreign } = partsOf(schema);
    if (foreign) return this.keeps(schema, value);
    if (simple && !this.keeps(simple, value)) return false;
    if (schema["$ref"] && !this.isValid(this.lookup[schema["$ref"]] ?? false, value)) return false;
    /** @type {Schema[]} */
    const all = schema["allOf"] ?? [];
    if (!all.every((one) => this.isValid(one, value))) return false;
    if (!this.hasAlternative(schema, "anyOf", value)) return false;
    if (!this.hasAlternative(schema, "oneOf", value)) return false;
    if (value === null || typeof value !== "object") return true;
    if (Array.isArray(value)) {
      const { items } = schema;
      return items === undefined || value.every((one) => this.isValid(items, one));
    }
    const { properties = {}, additionalProperties: others = true } = schema;
    return Object.entries(value).every(([name, one]) =>
      this.isValid(Object.hasOwn(properties, name) ? properties[name] : others, one),
    );
  }

  /**
   * The name of the definition that a schema refers to, if any.
   * @param {Schema} schema
   * @returns {string}
   */
  target(schema) {
    const reference = schema["$ref"];
    return typeof reference === "string" ? reference.slice(PREFIX.length) : "";
  }
}

/**
 * A schema that refers to a definition.
 * @param {string} name
 * @returns {Schema}
 */
export function referring(name) {
  return { $ref: PREFIX + name };
}
