/** The kinds of items, which have lists and pages. */

/** @import {Kind} from "./types.js" */

/**
 * `one` names an item, `intro` says what a list has, and `view` is the word in addresses.
 * @typedef {{kind: Kind, view: string, title: string, one: string, intro: string}} KindText
 */

/** @type {KindText[]} */
export const KINDS = [
  {
    kind: "methods",
    view: "methods",
    title: "Methods",
    one: "method",
    intro: "Every request and notification, and what became of it in each revision.",
  },
  {
    kind: "types",
    view: "types",
    title: "Types",
    one: "type",
    intro:
      "Every type of the schemas; objects without a name in a schema are named after their place.",
  },
  {
    kind: "capabilities",
    view: "capabilities",
    title: "Capabilities",
    one: "capability",
    intro: "What clients and servers declare, and which methods need it.",
  },
  {
    kind: "errors",
    view: "errors",
    title: "Errors",
    one: "error code",
    intro: "The codes of errors, who sends them, and their status over HTTP.",
  },
  {
    kind: "headers",
    view: "headers",
    title: "HTTP headers",
    one: "header",
    intro: "The headers to which the HTTP transports give a meaning.",
  },
  {
    kind: "metaKeys",
    view: "meta",
    title: "_meta keys",
    one: "key of _meta",
    intro: "The keys of _meta that have a meaning, and the messages that carry them.",
  },
];

/** @param {string} view */
export function kindOfView(view) {
  return KINDS.find((one) => one.view === view);
}
