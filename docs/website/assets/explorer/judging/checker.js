/**
 * Whether values are valid, by the definitions of one schema.
 *
 * The validator is @cfworker/json-schema. It walks the schema, while Ajv makes a function of it,
 * which needs `eval`, and a strict content security policy forbids that. It is also a tenth of the
 * size, has no dependencies, and agrees with `jsonschema` for Python on all our test vectors.
 */

import { dereference, format, validate } from "@cfworker/json-schema";

/** @import {Definitions, Json, Schema} from "../types.js" */

// In the protocol's schemas, formats are annotations: nobody is refused for one.
for (const name of Object.keys(format)) delete format[name];

const DIALECT = "2020-12";
const PREFIX = "#/$defs/";
// Where a schema is does not matter, as long as it is the same wherever this runs.
const BASE = new URL("https://schema.invalid/");

export class Checker {
  /** @param {Definitions} definitions */
  constructor(definitions) {
    this.definitions = definitions;
    /** @type {Record<string, Schema | boolean>} */
    this.lookup = dereference({ $defs: definitions }, Object.create(null), BASE);
    for (const [name, schema] of Object.entries(definitions)) this.lookup[PREFIX + name] = schema;
  }

  /**
   * @param {Schema | boolean} schema
   * @param {Json} value
   */
  isValid(schema, value) {
    return validate(value, schema, DIALECT, this.lookup).valid;
  }

  /**
   * The name of the definition that a schema refers to, if it does.
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
