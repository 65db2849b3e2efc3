/** The rules outside of schemas: kinds of messages, directions, batches, capabilities. */

import { OTHER, messageKind, methodOf, objectOf, resultsOf } from "./subjects.js";

/** @import {Asked, Condition, Fault, Json, JsonObject, Method, NeededGate} from "../types.js" */
/** @import {Revision, Role, Subject, Verdict} from "../types.js" */
/** @import {Spoken} from "./subjects.js" */

/**
 * The result of these rules, before a schema is used.
 * @typedef {Pick<Verdict, "subject" | "faults" | "gates" | "notes">} Known
 * @typedef {Known & {status: "unknown" | null}} Found
 */

/**
 * @param {Spoken} spoken
 * @param {Json} value
 * @param {Asked} asked
 * @param {(subject: Subject) => number} count how many members are at fault
 * @returns {Found}
 */
export function ofMessage(spoken, value, asked, count) {
  const kind = messageKind(value);
  if (kind === null) {
    const message = "is not a message: it has no “method”, “result” or “error”";
    return { ...NOTHING, faults: [ruled("", message)] };
  }
  const message = objectOf(value);
  if (kind === "call") return ofCall(spoken, message, asked);
  return kind === "result"
    ? ofResult(spoken, message, asked, count)
    : { ...NOTHING, subject: { kind: "error" }, notes: notesOnError(spoken, message) };
}

const VERSION = "io.modelcontextprotocol/protocolVersion";

/** @type {Found} */
const NOTHING = { subject: null, status: null, faults: [], gates: [], notes: [] };

/**
 * @param {string} pointer
 * @param {string} message
 * @returns {Fault}
 */
function ruled(pointer, message) {
  return { pointer, message, rule: "", type: "" };
}

/**
 * @param {Spoken} spoken
 * @param {JsonObject} message
 * @param {Asked} asked
 * @returns {Found}
 */
function ofCall(spoken, message, asked) {
  const name = message["method"];
  if (typeof name !== "string") {
    return { ...NOTHING, faults: [ruled("/method", "must be the name of a method, a string")] };
  }
  const method = methodOf(spoken, name);
  if (!method) {
    const fault = ruled("/method", `is not a method of ${spoken.revision.id}`);
    return { ...NOTHING, status: "unknown", faults: [fault] };
  }
  const params = objectOf(message["params"] ?? null);
  return {
    ...NOTHING,
    subject: { kind: method.kind === "notification" ? "notification" : "request", method: name },
    faults: [
      ...answers(message),
      ...wrongKind(method, message),
      ...wrongSender(method, asked.sender),
    ],
    gates: gatesOf(method, params, asked.sender),
    notes: [...notesOnMethod(method), ...otherRevision(spoken.revision, params)],
  };
}

/**
 * The members of an answer in a message with a method.
 * @param {JsonObject} message
 */
function answers(message) {
  const found = ["result", "error"].filter((name) => Object.hasOwn(message, name));
  return found.map((name) => ruled(`/${name}`, "must not be in a message with a method"));
}

/**
 * @param {Method} method
 * @param {JsonObject} message
 * @returns {Generator<Fault>}
 */
function* wrongKind(method, message) {
  if (method.kind === "embedded") {
    yield ruled("/method", "is not a message here: it is sent inside a result");
  } else if (method.kind === "notification" && Object.hasOwn(message, "id")) {
    yield ruled("/id", `is not allowed: ${method.name} is a notification, which has no answer`);
  }
}

/**
 * @param {Method} method
 * @param {Role | ""} sender
 * @returns {Generator<Fault>}
 */
function* wrongSender(method, sender) {
  if (sender && !method.senders.includes(sender)) {
    yield ruled("/method", `is not sent by a ${sender}, but by a ${method.senders.join(" or ")}`);
  }
}

/**
 * @param {Method} method
 * @param {JsonObject} params
 * @param {Role | ""} sender
 * @returns {NeededGate[]}
 */
function gatesOf(method, params, sender) {
  const meant = method.gates.filter((gate) => !sender || gate.sender === sender);
  return meant.map((gate) => ({
    ...gate,
    applies: !gate.when.length || gate.when.some((one) => holds(one, params)),
  }));
}

/**
 * @param {Condition} condition
 * @param {JsonObject} params
 */
function holds(condition, params) {
  const value = params[condition.member];
  if (value === undefined) return condition.orAbsent;
  return !condition.oneOf || condition.oneOf.some((one) => one === value);
}

/** @param {Method} method */
function notesOnMethod(method) {
  const notes = [];
  if (method.deprecated)
    notes.push({ text: `${method.name} is deprecated since ${method.deprecated}.` });
  if (method.phase === "before_ready") {
    notes.push({ text: "It must be sent before the handshake ends." });
  }
  return notes;
}

/**
 * A note on a message whose `_meta` names another revision.
 * @param {Revision} revision
 * @param {JsonObject} params
 */
function otherRevision(revision, params) {
  const named = objectOf(params["_meta"] ?? null)[VERSION];
  const known = revision.metaKeys.some((one) => one.key === VERSION);
  return known && typeof named === "string" && named !== revision.id
    ? [{ text: `Its _meta names ${named}, not ${revision.id}.` }]
    : [];
}

/**
 * @param {Spoken} spoken
 * @param {JsonObject} message
 */
function notesOnError(spoken, message) {
  const code = objectOf(message["error"] ?? null)["code"];
  const known = spoken.revision.errors.find((one) => one.code === code);
  if (!known) {
    return typeof code === "number"
      ? [{ text: `${code} is not a code of ${spoken.revision.id}.` }]
      : [];
  }
  const who = known.emit === "never" ? "no longer sent" : `sent by ${known.emit}`;
  return [{ text: `${code} is ${known.name}: ${who}.`, ...(known.url ? { url: known.url } : {}) }];
}

/**
 * A response: the result of the given method, or of the best match.
 * @param {Spoken} spoken
 * @param {JsonObject} message
 * @param {Asked} asked
 * @param {(subject: Subject) => number} count how many members are at fault
 * @returns {Found}
 */
function ofResult(spoken, message, asked, count) {
  const faults = Object.hasOwn(message, "error")
    ? [ruled("/error", "must not be in a response with a result")]
    : [];
  if (!asked.method) return { ...guessed(spoken, message, asked, count), faults };
  const method = methodOf(spoken, asked.method);
  if (!method || method.kind !== "request") {
    const fault = ruled("", `is not a request of ${spoken.revision.id}: ${asked.method}`);
    return { ...NOTHING, status: "unknown", faults: [fault, ...faults] };
  }
  if (asked.sender && !method.senders.includes(OTHER[asked.sender])) {
    faults.push(ruled("", `is not sent by a ${asked.sender}: it never receives ${method.name}`));
  }
  const subject = { kind: /** @type {const} */ ("result"), method: method.name };
  return { ...NOTHING, subject, faults, notes: leniencies(spoken, method, message) };
}

/**
 * @param {Spoken} spoken
 * @param {JsonObject} message
 * @param {Asked} asked
 * @param {(subject: Subject) => number} count how many members are at fault
 * @returns {Found}
 */
function guessed(spoken, message, asked, count) {
  const given = Object.keys(objectOf(message["result"] ?? null));
  const { revision, extension } = spoken;
  const asking = [...(extension?.methods ?? []), ...revision.methods]
    .filter((one) => one.kind === "request")
    .filter((one) => !asked.sender || one.senders.includes(OTHER[asked.sender]))
    .map((method) => ({ method, known: declaredOf(spoken, method, given) }));
  const known = Math.max(0, ...asking.map((one) => one.known));
  const likely = asking
    .filter((one) => one.known === known)
    .map(({ method }) => ({ method, wrong: count({ kind: "result", method: method.name }) }));
  const wrong = Math.min(...likely.map((one) => one.wrong));
  const equal = likely.filter((one) => one.wrong === wrong);
  const [first] = equal;
  if (!first) return { ...NOTHING, subject: { kind: "result" } };
  if (!known && wrong) {
    const text = "Its members do not tell the method. Choose the method that was called.";
    const notes = [{ text }, ...leniencies(spoken, first.method, message)];
    return { ...NOTHING, subject: { kind: "result" }, notes };
  }
  const names = equal.map((one) => one.method.name).join(", ");
  const text =
    `By its members it is a result of ${names}. ` +
    "If another method was called, choose it.";
  return {
    ...NOTHING,
    subject: { kind: "result", method: first.method.name },
    notes: [{ text }, ...leniencies(spoken, first.method, message)],
  };
}

/**
 * How many of the given members the results of a method declare.
 * @param {Spoken} spoken
 * @param {Method} method
 * @param {string[]} given
 */
function declaredOf(spoken, method, given) {
  const types = [...(spoken.extension?.types ?? []), ...spoken.revision.types];
  const counts = resultsOf(spoken, method).map((name) => {
    const members = types.find((one) => one.name === name)?.members ?? [];
    return members.filter((one) => given.includes(one.name)).length;
  });
  return Math.max(0, ...counts);
}

/**
 * The defaults that receivers must assume for missing members of a result.
 * @param {Spoken} spoken
 * @param {Method} method
 * @param {JsonObject} message
 */
function leniencies(spoken, method, message) {
  const result = objectOf(message["result"] ?? null);
  const types = resultsOf(spoken, method);
  return spoken.revision.leniency
    .map((one) => ({ ...one, member: one.where.split(".")[1] ?? "" }))
    .filter((one) => one.rule === "absent_reads_as" && !Object.hasOwn(result, one.member))
    .filter((one) => isRequired(spoken.revision, types, one.member))
    .map((one) => ({
      text:
        `A receiver reads a result without “${one.member}” ` +
        `as one with ${JSON.stringify(one.value)}.`,
      ...(one.url ? { url: one.url } : {}),
    }));
}

/**
 * @param {Revision} revision
 * @param {string[]} types
 * @param {string} member
 */
function isRequired(revision, types, member) {
  const found = revision.types.filter((one) => types.includes(one.name));
  return found.some((one) => one.members?.some((each) => each.name === member && each.required));
}

/**
 * The verdict on a batch: one for each message, if the revision has batches.
 * @param {Json[]} messages
 * @param {Revision} revision
 * @param {(value: Json) => Verdict} judge
 * @returns {Verdict}
 */
export function batch(messages, revision, judge) {
  const rule = revision.rules["batching"];
  const verdicts = rule?.receive ? messages.map(judge) : [];
  const faults = rule?.receive
    ? wrongBatch(messages, verdicts)
    : [ruled("", `is an array, and ${revision.id} has no batches`)];
  for (const [index, one] of verdicts.entries()) {
    faults.push(...one.faults.map((each) => inside(index, each)));
  }
  return {
    revision: revision.id,
    extension: verdicts.find((one) => one.extension)?.extension ?? "",
    status: faults.length ? "refused" : "accepted",
    subject: null,
    senders: [],
    faults,
    unknown: verdicts.flatMap((one, index) => one.unknown.map((each) => inside(index, each))),
    gates: distinct(verdicts.flatMap((one) => one.gates)),
    notes: [
      { text: "An array is a batch of messages.", ...(rule?.url ? { url: rule.url } : {}) },
      ...distinct(verdicts.flatMap((one) => one.notes)),
    ],
    published: verdicts.find((one) => one.published)?.published ?? null,
  };
}

/**
 * The remarks on several messages, without repetition.
 * @template T
 * @param {T[]} said
 * @returns {T[]}
 */
function distinct(said) {
  return [...new Map(said.map((one) => [JSON.stringify(one), one])).values()];
}

/**
 * @param {Json[]} messages
 * @param {Verdict[]} verdicts
 */
function wrongBatch(messages, verdicts) {
  const kinds = messages.map(messageKind);
  const faults = messages.length ? [] : [ruled("", "is an empty batch")];
  if (kinds.includes("call") && (kinds.includes("result") || kinds.includes("error"))) {
    faults.push(ruled("", "has requests and answers, which need separate batches"));
  }
  for (const [index, one] of verdicts.entries()) {
    if (one.subject?.method === "initialize") {
      faults.push(ruled(`/${index}/method`, "must not be in a batch: it is the first message"));
    }
  }
  return faults;
}

/**
 * A remark on a message, with a pointer from its batch.
 * @template {{pointer: string}} Said
 * @param {number} index
 * @param {Said} said
 * @returns {Said}
 */
function inside(index, said) {
  return { ...said, pointer: `/${index}${said.pointer}` };
}
