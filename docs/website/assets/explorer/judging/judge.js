/** The verdict of each revision on a message. */

import { Checker } from "./checker.js";
import { faultsOf } from "./explain.js";
import { batch, ofMessage } from "./rules.js";
import { methodOf, schemaOf } from "./subjects.js";
import { undeclared } from "./undeclared.js";

/** @import {Asked, Definitions, Extension, Fault, Finding, Json, Revision} from "../types.js" */
/** @import {Subject, Verdict} from "../types.js" */
/** @import {Spoken} from "./subjects.js" */

/** @type {WeakMap<object, {mended: Checker, published: Checker}>} */
const CHECKERS = new WeakMap();

/**
 * The checkers of a revision or of an extension in it, by the corrected and the published schema.
 * @param {Spoken} spoken
 */
function checkersOf({ revision, extension }) {
  const key = extension ?? revision;
  const known = CHECKERS.get(key);
  if (known) return known;
  const mended = { ...revision.schemas.mended, ...extension?.schemas.mended };
  /** @type {Definitions} */
  const published = {
    ...mended,
    ...revision.schemas.published,
    ...extension?.schemas.published,
  };
  const made = { mended: new Checker(mended), published: new Checker(published) };
  CHECKERS.set(key, made);
  return made;
}

/**
 * Whether the mended schema accepts a value.
 * @param {Subject} subject
 * @param {Json} value
 * @param {Revision} revision
 * @param {Extension} [extension]
 */
export function accepts(subject, value, revision, extension) {
  const spoken = extension ? { revision, extension } : { revision };
  const { mended } = checkersOf(spoken);
  return mended.isValid(schemaOf(spoken, subject, mended).schema, value);
}

/**
 * The verdict of a revision; if it refuses, that of an extension which accepts.
 * @param {Json} value
 * @param {Revision} revision
 * @param {Extension[]} extensions those of the revision
 * @param {Asked} asked
 * @returns {Verdict}
 */
export function judge(value, revision, extensions, asked) {
  if (Array.isArray(value)) {
    return batch(value, revision, (one) => ofOne(one, revision, extensions, asked));
  }
  return ofOne(value, revision, extensions, asked);
}

/**
 * The verdict on a message other than a batch; an array in a batch is not a message.
 * @param {Json} value
 * @param {Revision} revision
 * @param {Extension[]} extensions
 * @param {Asked} asked
 * @returns {Verdict}
 */
function ofOne(value, revision, extensions, asked) {
  const core = verdictOf({ revision }, value, asked);
  if (core.status === "accepted") return core;
  const tried = extensions.map((extension) => verdictOf({ revision, extension }, value, asked));
  const accepted = tried.find((one) => one.status === "accepted");
  return accepted ?? tried.find((one) => one.status !== core.status) ?? core;
}

/**
 * @param {Spoken} spoken
 * @param {Json} value
 * @param {Asked} asked
 * @returns {Verdict}
 */
function verdictOf(spoken, value, asked) {
  const { mended } = checkersOf(spoken);
  // The members at fault are enough to find the method of a result.
  const shallow = mended.upTo(2);
  const count = (/** @type {Subject} */ subject) =>
    membersOf(faultsOf(shallow, schemaOf(spoken, subject, shallow), value));
  const found = ofMessage(spoken, value, asked, count);
  const schema = found.subject && schemaOf(spoken, found.subject, mended);
  const wrong = schema ? faultsOf(mended, schema, value) : [];
  const faults = [...found.faults, ...wrong];
  const anySchema = new Set(spoken.revision.schemas.anySchema);
  const undeclaredIn =
    schema && !wrong.length ? undeclared(mended, schema, value, anySchema) : [];
  const method = methodOf(spoken, found.subject?.method ?? "");
  return {
    ...found,
    revision: spoken.revision.id,
    extension: spoken.extension?.name ?? "",
    status: found.status ?? (faults.length ? "refused" : "accepted"),
    senders: method?.senders ?? [],
    faults,
    unknown: undeclaredIn.filter(({ pointer }) => !faults.some((one) => one.pointer === pointer)),
    published: found.subject && publishedOf(spoken, found.subject, value, wrong),
  };
}

/**
 * The number of members of a result that are at fault or missing.
 * @param {Fault[]} faults
 */
function membersOf(faults) {
  return new Set(faults.map(({ pointer, message }) => pointer.split("/")[2] ?? message)).size;
}

/**
 * The verdict of the published schema, if it differs, and the findings that explain it.
 * @param {Spoken} spoken
 * @param {Subject} subject
 * @param {Json} value
 * @param {Fault[]} wrong
 */
function publishedOf(spoken, subject, value, wrong) {
  const { published } = checkersOf(spoken);
  const node = schemaOf(spoken, subject, published);
  const accepted = published.isValid(node.schema, value);
  if (accepted === !wrong.length) return null;
  const faults = faultsOf(published, node, value);
  const all = [...(spoken.extension?.findings ?? []), ...spoken.revision.findings];
  const findings = all.filter((finding) =>
    [...faults, ...wrong].some((one) => isAbout(finding, one)),
  );
  return { accepted, faults, findings };
}

/**
 * Whether a finding is about the rule of a fault: one contains the other.
 * @param {Finding} finding
 * @param {Fault} fault
 */
function isAbout(finding, fault) {
  const [shorter = "", longer = ""] = [finding.pointer, fault.rule].sort(
    (a, b) => a.length - b.length,
  );
  return longer === shorter || longer.startsWith(`${shorter}/`) || fault.type === finding.type;
}
