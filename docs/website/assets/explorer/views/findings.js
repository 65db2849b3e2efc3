/** All findings about the published schemas, by reason. */

import { address, remember } from "../address.js";
import * as data from "../data.js";
import { el, filterForm, named, plainOptions, select } from "../dom.js";
import { findingAddress, findingDetails, findingOf, placeOf } from "./finding.js";

/** @import {Address} from "../address.js" */
/** @import {Finding, Index} from "../types.js" */

/**
 * @param {Index} _
 * @param {Address} place
 */
export async function findingsView(_, place) {
  const all = await data.findings();
  const finding = findingOf(all, place.name);
  if (finding) {
    const back = el("p.crumb", {}, el("a", { href: address("findings") }, "All findings"));
    const title = `${finding.of}: ${placeOf(finding)}`;
    return { title, content: [back, ...findingDetails(finding)] };
  }
  const about =
    "Where the published schema.json is not what the specification or its own schema.ts says. " +
    "Each is corrected before anything is made from it.";
  return {
    title: "Findings about the published schemas",
    content: [el("p.lead", {}, about), ...list(all, place.query.get("of") ?? "")],
  };
}

/**
 * @param {Record<string, Finding[]>} all
 * @param {string} start the revision or extension to begin with, empty for all
 */
function list(all, start) {
  const listed = Object.values(all).flat();
  const shown = el("div");
  const count = el("p.count", { role: "status" });
  const update = (/** @type {string} */ wanted) => {
    const some = listed.filter((one) => !wanted || one.of === wanted);
    shown.replaceChildren(...groups(some));
    count.textContent = `${some.length} of ${listed.length} findings`;
  };
  const choice = select({
    label: "Of",
    options: [["", "all"], ...plainOptions(Object.keys(all))],
    value: start,
    change: (of) => {
      remember({ of });
      update(of);
    },
  });
  update(start);
  return [filterForm("Which findings", choice, count), shown];
}

/** @param {Finding[]} listed */
function groups(listed) {
  const reasons = [...new Set(listed.map((one) => one.reason))];
  return reasons.map((reason) => {
    const some = listed.filter((one) => one.reason === reason);
    const links = some.map((one) => {
      const href = findingAddress(one.of, one.pointer);
      return el("li", {}, el("a", { href }, one.of, " ", named(placeOf(one))));
    });
    return el("section.reason", {}, el("h2", {}, reason), el("ul.columns", {}, links));
  });
}
