/** One item: its details in a revision, or in two side by side, and its history. */

import { address } from "../address.js";
import * as data from "../data.js";
import { el, select } from "../dom.js";
import { isIn } from "../marks.js";
import { changesOf } from "./history.js";
import { details } from "./details.js";
import { findingSummary } from "./finding.js";

/** @import {Address} from "../address.js" */
/** @import {KindText} from "../kinds.js" */
/** @import {Side} from "./details.js" */
/** @import {Index, Item} from "../types.js" */

/**
 * @param {Index} index
 * @param {KindText} kind
 * @param {Item} item
 * @param {Address} place
 */
export async function itemView(index, kind, item, place) {
  const names = sidesOf(index, item);
  const wanted = place.query.get("rev") ?? "";
  const name = names.includes(wanted) ? wanted : ownSide(names, wanted);
  const other = place.query.get("with") ?? "";
  const beside = names.includes(other) && other !== name ? other : "";
  const sides = await Promise.all([name, ...(beside ? [beside] : [])].map(loaded));
  return {
    title: item.name,
    content: [
      el("p.crumb", {}, el("a", { href: address(kind.view) }, kind.title)),
      choice(kind, item, names, name, beside),
      besideChoice(kind, item, names, name, beside),
      el(
        beside ? "div.sides" : "div",
        {},
        sides.map((side) => sideSection(kind, item, side)),
      ),
      ...(kind.kind === "types" ? await findingsOf(item.name) : []),
      await changesOf(index, kind, item),
    ],
  };
}

/**
 * The revisions and extensions that have an item.
 * @param {Index} index
 * @param {Item} item
 */
function sidesOf(index, item) {
  const own = index.revisions.filter((_, at) => isIn(item.marks, at)).map((one) => one.id);
  return [...own, ...(item.extensions ?? [])];
}

/**
 * The side to show if the item is not in the wanted one: its revision, or the newest one.
 * @param {string[]} names
 * @param {string} wanted
 */
function ownSide(names, wanted) {
  const core = wanted.split("+")[0] ?? "";
  if (names.includes(core)) return core;
  const newest = [...names].sort((a, b) => idOf(a).localeCompare(idOf(b)) || b.length - a.length);
  return newest.at(-1) ?? "";
}

/** @param {string} name */
function idOf(name) {
  return name.split("+")[0] ?? "";
}

/**
 * @param {string} name
 * @returns {Promise<Side>}
 */
async function loaded(name) {
  const id = idOf(name);
  const revision = await data.revision(id);
  return name === id
    ? { name, revision }
    : { name, revision, extension: await data.extension(name) };
}

/**
 * The revisions as links; the one that is shown is marked.
 * @param {KindText} kind
 * @param {Item} item
 * @param {string[]} names
 * @param {string} name
 * @param {string} beside
 */
function choice(kind, item, names, name, beside) {
  const links = names.map((one) =>
    el(
      "a",
      {
        href: address(kind.view, item.name, { rev: one, with: beside }),
        "aria-current": one === name ? "true" : undefined,
      },
      one,
    ),
  );
  return el("nav.choices", { "aria-label": "Revisions that have it" }, links);
}

/**
 * @param {KindText} kind
 * @param {Item} item
 * @param {string[]} names
 * @param {string} name
 * @param {string} beside
 */
function besideChoice(kind, item, names, name, beside) {
  const others = names.filter((one) => one !== name);
  if (!others.length) return "";
  return select({
    label: "Beside it",
    options: [
      ["", "nothing"],
      ...others.map((one) => /** @type {[string, string]} */ ([one, one])),
    ],
    value: beside,
    change: (other) => {
      location.hash = address(kind.view, item.name, { rev: name, with: other });
    },
  });
}

/**
 * @param {KindText} kind
 * @param {Item} item
 * @param {Side} side
 */
function sideSection(kind, item, side) {
  const id = `in-${side.name.replaceAll(/[^\w-]/g, "-")}`;
  return el(
    "section.side",
    { "aria-labelledby": id },
    el("h2", { id }, `In ${side.name}`),
    details(kind.kind, item.name, side),
  );
}

/** @param {string} type */
async function findingsOf(type) {
  const all = Object.values(await data.findings()).flat();
  const found = all.filter((one) => one.type === type).map(findingSummary);
  if (!found.length) return [];
  return [
    el(
      "section",
      { "aria-labelledby": "wrong" },
      el("h2", { id: "wrong" }, "Findings about the published schema"),
      el("ul.findings", {}, found),
    ),
  ];
}
