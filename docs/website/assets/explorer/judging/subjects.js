/** The kind of a message, and the schema for it. */

import { referring } from "./checker.js";
import { definition } from "./explain.js";

/** @import {Extension, Json, JsonObject, Method, Revision, Role, Schema} from "../types.js" */
/** @import {Subject} from "../types.js" */
/** @import {Checker} from "./checker.js" */
/** @import {Node} from "./explain.js" */

/** @type {Record<Role, Role>} */
export const OTHER = { client: "server", server: "client" };

/**
 * A revision, with an extension if there is one.
 * @typedef {{revision: Revision, extension?: Extension}} Spoken
 */

/**
 * @param {Spoken} spoken
 * @param {string} name
 * @returns {Method | undefined}
 */
export function methodOf({ revision, extension }, name) {
  const all = [...(extension?.methods ?? []), ...revision.methods];
  return all.find((one) => one.name === name);
}

/**
 * The types of the results of a request, with those of an extension.
 * @param {Spoken} spoken
 * @param {Method} method
 */
export function resultsOf({ extension }, method) {
  const claimed = extension?.claims.filter((one) => one.method === method.name) ?? [];
  return [...method.results, ...claimed.flatMap((one) => one.results)];
}

/**
 * The schema of a subject: the envelope of JSON-RPC with the schema of the method.
 * @param {Spoken} spoken
 * @param {Subject} subject
 * @param {Checker} checker
 * @returns {Node}
 */
export function schemaOf(spoken, subject, checker) {
  if (subject.kind === "type") return definition(checker, subject.type ?? "");
  const envelope = spoken.revision.schemas.envelopes[subject.kind];
  const parts = envelope ? [referring(envelope)] : [];
  const method = methodOf(spoken, subject.method ?? "");
  if (subject.kind === "result") parts.push(bodyOf(spoken, method));
  else if (method && subject.kind !== "error") parts.push(referring(method.message));
  return { schema: { allOf: parts }, rule: "" };
}

/**
 * @param {Spoken} spoken
 * @param {Method | undefined} method
 * @returns {Schema}
 */
function bodyOf(spoken, method) {
  const results = method ? resultsOf(spoken, method).map(referring) : [{ type: "object" }];
  const [only] = results;
  const result = results.length === 1 && only ? only : { anyOf: results };
  return { type: "object", properties: { result }, required: ["result"] };
}

/**
 * The kind of a message by its members; null for other values.
 * @param {Json} value
 * @returns {"call" | "result" | "error" | null}
 */
export function messageKind(value) {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return null;
  if (Object.hasOwn(value, "method")) return "call";
  if (Object.hasOwn(value, "result")) return "result";
  return Object.hasOwn(value, "error") ? "error" : null;
}

/**
 * @param {Json} value
 * @returns {JsonObject}
 */
export function objectOf(value) {
  return value && typeof value === "object" && !Array.isArray(value) ? value : {};
}
