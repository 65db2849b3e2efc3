/** All items of a kind, with their marks in each revision. */

import { address, remember } from "../address.js";
import { el, filterForm, holds, named, prose, row, searchField, table } from "../dom.js";
import { isIn, legend, markOf, marked, moves } from "../marks.js";

/** @import {Address} from "../address.js" */
/** @import {KindText} from "../kinds.js" */
/** @import {Index, Item} from "../types.js" */

/**
 * @param {Index} index
 * @param {KindText} kind
 * @param {Address} place
 */
export function listView(index, kind, place) {
  const items = index.items[kind.kind];
  const rows = items.map((item) => rowOf(index, kind, item));
  const heads = [kind.one, ...(kind.kind === "methods" ? ["Sent by"] : []), ...columns(index)];
  const capital = heads.map((head) => head[0]?.toUpperCase() + head.slice(1));
  return {
    title: kind.title,
    content: [
      el("p.lead", {}, kind.intro),
      ...(kind.kind === "methods" ? [tiles(index)] : []),
      filters(kind, items, rows, place),
      table(`${kind.title} by revision`, capital, rows, "matrix"),
      legend(),
    ],
  };
}

/**
 * The filters of a list, which the address remembers.
 * @param {KindText} kind
 * @param {Item[]} items
 * @param {HTMLTableRowElement[]} rows
 * @param {Address} place
 */
function filters(kind, items, rows, place) {
  const count = el("p.count", { role: "status" });
  const narrow = () => {
    let seen = 0;
    for (const [at, item] of items.entries()) {
      const wanted = isWanted(item, text.value, moving.checked);
      const line = rows[at];
      if (line) line.hidden = !wanted;
      seen += Number(wanted);
    }
    count.textContent = `${seen} of ${items.length}`;
  };
  const changed = () => {
    narrow();
    remember({ q: text.value, moving: moving.checked ? "1" : "" });
  };
  const text = searchField(place.query.get("q") ?? "", changed);
  const checked = place.query.has("moving");
  const moving = el("input", { type: "checkbox", checked, change: changed });
  narrow();
  return filterForm(
    `Filter ${kind.title}`,
    el("label.choice", {}, el("span", {}, "Name or text"), text),
    el("label.check", {}, moving, "only what changed"),
    count,
  );
}

/**
 * @param {Item} item
 * @param {string} text
 * @param {boolean} moving
 */
function isWanted(item, text, moving) {
  const searched = `${item.name} ${item.title ?? ""} ${item.doc ?? ""}`;
  return holds(searched, text) && (!moving || moves(item.marks));
}

/** @param {Index} index */
function columns(index) {
  return [...index.revisions.map((one) => one.id), "Extensions"];
}

/**
 * @param {Index} index
 * @param {KindText} kind
 * @param {Item} item
 */
function rowOf(index, kind, item) {
  const cells = index.revisions.map((revision, at) => {
    const mark = marked(markOf(item.marks, at), at === 0);
    if (!isIn(item.marks, at)) return mark;
    const label = `${item.name} in ${revision.id}: ${mark.textContent}`;
    return el(
      "a",
      { href: address(kind.view, item.name, { rev: revision.id }), "aria-label": label },
      mark,
    );
  });
  const extensions = (item.extensions ?? []).map((title) => {
    const [, name = ""] = title.split("+");
    return el("a.tag", { href: address(kind.view, item.name, { rev: title }), title }, name);
  });
  const shown = [...new Map(extensions.map((one) => [one.textContent, one])).values()];
  const head = [
    el("a", { href: address(kind.view, item.name) }, named(item.name)),
    el("span.doc", {}, item.title ? `${item.title}: ` : "", prose(item.doc ?? "")),
  ];
  const by = kind.kind === "methods" ? [sentBy(item)] : [];
  return row(head, ...by, ...cells, shown);
}

/** @param {Item} item */
function sentBy(item) {
  const word = item.kind === "embedded" ? "inside a result" : (item.kind ?? "");
  return [el("span.who", {}, (item.senders ?? []).join(", ")), el("span.kind", {}, word)];
}

/**
 * Links to other views, for new readers.
 * @param {Index} index
 */
function tiles(index) {
  const found = Object.values(index.findings).reduce((sum, number) => sum + number, 0);
  const [before, after] = index.revisions.slice(-2);
  const texts = [
    [
      address("judge"),
      "Judge a message",
      "Paste JSON: every revision says whether it is right, and why not.",
    ],
    [
      address("compare", `${before?.id}/${after?.id}`),
      `${before?.id} → ${after?.id}`,
      "What changed, for clients, servers, SDKs and gateways.",
    ],
    [
      address("findings"),
      `${found} findings`,
      "What is wrong in the published schemas, most with a value that shows it.",
    ],
  ];
  return el(
    "ul.tiles",
    {},
    texts.map(([href = "", title = "", text = ""]) =>
      el("li", {}, el("a", { href }, el("strong", {}, title), el("span", {}, text))),
    ),
  );
}
