/** The page: shows the view that its address names, again after each change of the address. */

import { current, address } from "./address.js";
import * as data from "./data.js";
import { el } from "./dom.js";
import { KINDS, kindOfView } from "./kinds.js";
import { didYouMean } from "./near.js";
import { compareView } from "./views/compare.js";
import { findingsView } from "./views/findings.js";
import { itemView } from "./views/item.js";
import { judgeView } from "./views/judge.js";
import { listView } from "./views/list.js";
import { revisionsView } from "./views/revisions.js";
import { searchView } from "./views/search.js";

/** @import {Address} from "./address.js" */
/** @import {Index} from "./types.js" */

/** @typedef {{title: string, content: (Node | string)[]}} View */

const NAVIGATION = [
  ...KINDS.map(({ view, title }) => ({ view, title })),
  { view: "revisions", title: "Revisions" },
  { view: "compare", title: "Compare" },
  { view: "findings", title: "Findings" },
  { view: "judge", title: "Judge a message" },
];

/** @type {Record<string, (index: Index, address: Address) => Promise<View> | View>} */
const VIEWS = {
  compare: compareView,
  findings: findingsView,
  judge: judgeView,
  revisions: revisionsView,
  search: searchView,
};

const main = /** @type {HTMLElement} */ (document.querySelector("main"));
const navigation = /** @type {HTMLElement} */ (document.querySelector("#views"));
const field = /** @type {HTMLInputElement} */ (document.querySelector("#find"));
let shown = 0;

/** @param {boolean} moving whether the reader followed a link */
async function show(moving) {
  const number = ++shown;
  const place = current();
  markNavigation(place.view);
  main.setAttribute("aria-busy", "true");
  /** @type {View} */
  let view;
  try {
    view = await viewOf(place);
  } catch (error) {
    view = failure(error);
  }
  if (number !== shown) return; // the reader has gone on
  const heading = el("h1", { tabindex: -1 }, view.title);
  main.replaceChildren(heading, ...view.content);
  main.setAttribute("aria-busy", "false");
  document.title = `${view.title} · MCP protocol explorer`;
  if (moving && document.activeElement !== field) {
    scrollTo(0, 0);
    heading.focus({ preventScroll: true });
  }
}

/**
 * @param {Address} place
 * @returns {Promise<View>}
 */
async function viewOf(place) {
  const index = await data.index();
  const made = Object.hasOwn(VIEWS, place.view) && VIEWS[place.view];
  if (made) return made(index, place);
  const kind = kindOfView(place.view);
  if (!kind) return missing(`There is no page “${place.view}” here.`);
  if (!place.name) return listView(index, kind, place);
  const item = index.items[kind.kind].find((one) => one.name === place.name);
  if (!item) {
    const text = `There is no ${kind.one} “${place.name}” in any revision.`;
    return missing(text, didYouMean(index, place.name));
  }
  return itemView(index, kind, item, place);
}

/**
 * @param {string} text
 * @param {Node[]} [hint]
 */
function missing(text, hint = []) {
  const link = el("a", { href: address("methods") }, "All methods");
  return { title: "Not found", content: [el("p", {}, text), ...hint, el("p", {}, link)] };
}

/** @param {unknown} error */
function failure(error) {
  const text = error instanceof Error ? error.message : String(error);
  return { title: "This page could not be shown", content: [el("p", { role: "alert" }, text)] };
}

/** @param {string} view */
function markNavigation(view) {
  navigation.replaceChildren(
    ...NAVIGATION.map((one) =>
      el(
        "li",
        {},
        el(
          "a",
          { href: address(one.view), "aria-current": one.view === view ? "page" : undefined },
          one.title,
        ),
      ),
    ),
  );
}

function search() {
  const text = field.value.trim();
  const target = text ? address("search", "", { q: text }) : address("methods");
  // Only the first letter gets an entry in the history.
  if (current().view === "search") location.replace(target);
  else location.hash = target;
}

field.addEventListener("input", search);
document.querySelector("#search")?.addEventListener("submit", (event) => {
  event.preventDefault();
  const first = /** @type {HTMLElement | null} */ (main.querySelector("a"));
  if (current().view === "search") first?.focus();
});
document.querySelector(".skip")?.addEventListener("click", (event) => {
  event.preventDefault(); // the fragment names the view
  main.focus();
});
addEventListener("hashchange", () => show(true));
addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const writing = target.closest("input, textarea, select");
  if (event.key === "/" && !writing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    field.focus();
  }
});
show(false);
