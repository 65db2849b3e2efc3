/** A pasted message, and the verdict of each revision. */

import { remember } from "../address.js";
import * as data from "../data.js";
import { el, plainOptions, select } from "../dom.js";
import { EXAMPLES } from "./examples.js";
import { verdictView } from "./verdict.js";

/** @import {Address} from "../address.js" */
/** @import {Asked, Extension, Index, Judge, Revision, Role} from "../types.js" */

const PAUSE = 200;
/** Longer messages, in characters, show the progress of the judge. */
const LONG = 50_000;

/**
 * @param {Index} index
 * @param {Address} place
 */
export async function judgeView(index, place) {
  const [judge, revisions, extensions] = await Promise.all([
    data.judge(),
    Promise.all(index.revisions.map((one) => data.revision(one.id))),
    Promise.all(index.extensions.map((one) => data.extension(`${one.revision}+${one.name}`))),
  ]);
  const asked = {
    sender: /** @type {Role | ""} */ (place.query.get("by") ?? ""),
    method: place.query.get("method") ?? "",
  };
  const verdicts = el("div.verdicts");
  const summary = el("p.summary", { role: "status", "aria-live": "polite" });
  const field = messageField(place.query.get("m") ?? "", () => update());
  let latest = 0;
  const update = async () => {
    const mine = (latest += 1);
    const given = { judge, revisions, extensions, text: field.value, asked: { ...asked } };
    for await (const shown of judged(given)) {
      if (mine !== latest) return; // the reader has typed or chosen again
      summary.textContent = shown.summary;
      verdicts.replaceChildren(...shown.content);
    }
  };
  const pick = (/** @type {Partial<Asked>} */ chosen) => {
    Object.assign(asked, chosen);
    remember({ by: asked.sender, method: asked.method });
    update();
  };
  const first = update();
  if (field.value.length <= LONG) await first;
  const form = el(
    "form.judge",
    { "aria-label": "The message", submit: (event) => event.preventDefault() },
    el("label", { for: "message" }, "Message"),
    field,
    el("div.filters", {}, ...choices(revisions, extensions, asked, pick), share(field)),
    examples(field, update),
  );
  const heading = el("h2", { id: "said" }, "What each revision says");
  const said = el("section", { "aria-labelledby": "said" }, heading, summary, verdicts);
  const about =
    "Paste a message of the protocol, as JSON. Each revision says whether it accepts it, " +
    "and why not. Nothing leaves this page.";
  return {
    title: "Judge a message",
    content: [el("p.lead", { id: "message-about" }, about), form, said],
  };
}

/**
 * The field of the message; what is typed is judged after a short pause.
 * @param {string} value
 * @param {() => void} update
 */
function messageField(value, update) {
  let waiting = 0;
  const input = () => {
    clearTimeout(waiting);
    waiting = setTimeout(update, PAUSE);
  };
  const never = { spellcheck: "false", autocapitalize: "off" };
  const field = el("textarea", {
    id: "message",
    rows: 12,
    ...never,
    "aria-describedby": "message-about",
    input,
  });
  field.value = value;
  return field;
}

/**
 * @param {Revision[]} revisions
 * @param {Extension[]} extensions
 * @param {Asked} asked
 * @param {(chosen: Partial<Asked>) => void} pick
 */
function choices(revisions, extensions, asked, pick) {
  const requests = [...revisions, ...extensions].flatMap((one) =>
    one.methods.filter((method) => method.kind === "request").map((method) => method.name),
  );
  return [
    select({
      label: "Sent by",
      options: [
        ["", "either side"],
        ["client", "the client"],
        ["server", "the server"],
      ],
      value: asked.sender,
      change: (value) => pick({ sender: /** @type {Role | ""} */ (value) }),
    }),
    select({
      label: "If an answer, to",
      options: [["", "the best match"], ...plainOptions([...new Set(requests)].sort())],
      value: asked.method,
      change: (method) => pick({ method }),
    }),
  ];
}

/** @param {HTMLTextAreaElement} field */
function share(field) {
  const told = el("span", { role: "status" });
  const put = async () => {
    remember({ m: field.value });
    try {
      await navigator.clipboard.writeText(location.href);
      told.textContent = "The link is copied.";
    } catch {
      told.textContent = "The link is in the address bar."; // a file has no clipboard
    }
  };
  return el(
    "span.share",
    {},
    el("button", { type: "button", click: put }, "Link to this message"),
    " ",
    told,
  );
}

/**
 * @param {HTMLTextAreaElement} field
 * @param {() => void} update
 */
function examples(field, update) {
  const buttons = EXAMPLES.map(({ title, message }) =>
    el(
      "button",
      {
        type: "button",
        click: () => {
          field.value = JSON.stringify(message, null, 2);
          update();
          field.focus();
        },
      },
      title,
    ),
  );
  return el(
    "div.examples",
    { role: "group", "aria-label": "Examples" },
    el("span", {}, "Examples:"),
    buttons,
  );
}

/**
 * The input of the judge.
 * @typedef {object} Case
 * @property {Judge} judge
 * @property {Revision[]} revisions
 * @property {Extension[]} extensions
 * @property {string} text
 * @property {Asked} asked
 */

/**
 * The progress on a long message, then the verdicts. The page stays usable between revisions.
 * @param {Case} given
 * @returns {AsyncGenerator<{summary: string, content: Node[]}>}
 */
async function* judged({ judge, revisions, extensions, text, asked }) {
  if (!text.trim()) {
    yield { summary: "There is no message yet.", content: [] };
    return;
  }
  /** @type {ReturnType<Judge["read"]>} */
  let message;
  try {
    message = judge.read(text);
  } catch (error) {
    yield unread(error);
    return;
  }
  const { value, places, notes } = message;
  const verdicts = [];
  for (const [number, one] of revisions.entries()) {
    if (text.length > LONG) {
      yield { summary: `Judging: ${number} of ${revisions.length} revisions…`, content: [] };
      await new Promise((resolve) => setTimeout(resolve));
    }
    const own = extensions.filter((each) => each.revision === one.id);
    verdicts.push(judge.judge(value, one, own, asked));
  }
  const accepting = verdicts.filter((one) => one.status === "accepted").map((one) => one.revision);
  const by = accepting.length ? `: ${accepting.join(", ")}` : "";
  yield {
    summary: `Accepted by ${accepting.length} of ${verdicts.length} revisions${by}.`,
    content: [
      ...notes.map((note) => el("p.note", {}, note)),
      ...[...verdicts].reverse().map((one) => verdictView(one, places)),
    ],
  };
}

/** @param {unknown} error */
function unread(error) {
  const place = /** @type {{place?: {line: number, column: number}}} */ (error).place;
  if (!(error instanceof Error) || !place) throw error;
  const text = `This is not JSON: line ${place.line}, column ${place.column}: ${error.message}.`;
  return { summary: text, content: [] };
}
