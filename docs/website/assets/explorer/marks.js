/** Marks of an item in each revision. */

import { el, spoken } from "./dom.js";

/** @typedef {"n" | "s" | "c" | "g" | "-"} Mark */

/** @type {Record<Mark, [string, string]>} the class and the text of each mark */
const MARKS = {
  n: ["new", "new"],
  s: ["same", "unchanged"],
  c: ["changed", "changed"],
  g: ["gone", "removed"],
  "-": ["absent", "not in it"],
};

/**
 * The mark of an item in the revision at a position; the first revision has no “new”.
 * @param {string} marks
 * @param {number} position
 */
export function markOf(marks, position) {
  return /** @type {Mark} */ (marks[position] ?? "-");
}

/**
 * @param {Mark} mark
 * @param {boolean} first whether the column has none before it
 */
export function marked(mark, first) {
  const [style, text] = MARKS[mark];
  if (mark === "s") return el("span.mark.same", {}, spoken(first ? "there" : text));
  return el(`span.mark.${style}`, {}, mark === "-" ? spoken(text) : text);
}

/**
 * Whether an item has changed.
 * @param {string} marks
 */
export function moves(marks) {
  return /[ncg]/.test(marks);
}

/**
 * Whether a revision has an item.
 * @param {string} marks
 * @param {number} position
 */
export function isIn(marks, position) {
  return "nsc".includes(markOf(marks, position));
}

/** The meanings of the marks. */
export function legend() {
  const known = /** @type {Mark[]} */ (["n", "c", "s", "g"]);
  return el(
    "ul.legend",
    { "aria-label": "What the marks mean" },
    known.map((mark) =>
      el(
        "li",
        {},
        el(
          `span.mark.${MARKS[mark][0]}`,
          { "aria-hidden": "true" },
          mark === "s" ? "" : MARKS[mark][1],
        ),
        ` ${EXPLAINED[mark]}`,
      ),
    ),
  );
}

/** @type {Record<Mark, string>} */
const EXPLAINED = {
  n: "not in the revision before",
  c: "differs from the revision before",
  s: "as before",
  g: "no longer in this revision",
  "-": "",
};
