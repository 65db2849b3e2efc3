/** All findings about the published schemas, by reason. */

import { address, remember } from "../address.js";
import * as data from "../data.js";
import { el, named, select } from "../dom.js";
import { findingAddress, findingDetails, placeOf } from "./finding.js";

/** @import {Address} from "../address.js" */
/** @import {Finding, Index} from "../types.js" */

/** @typedef {{of: string, at: number, finding: Finding}} Listed */

/**
 * @param {Index} _
 * @param {Address} place
 */
export async function findingsView(_, place) {
  const all = await data.findings();
  const [of = "", number = ""] = place.name.split("/");
  const finding = all[of]?.[Number(number) - 1];
  if (finding) {
    const back = el("p.crumb", {}, el("a", { href: address("findings") }, "All findings"));
    return { title: `${of}: ${placeOf(finding)}`, content: [back, ...findingDetails(finding)] };
  }
  const listed = Object.entries(all).flatMap(([one, some]) =>
    some.map((each, at) => ({ of: one, at, finding: each })),
  );
  const shown = el("div", {});
  const count = el("p.count", { role: "status" });
  let wanted = place.query.get("of") ?? "";
  const update = () => {
    const some = listed.filter((one) => !wanted || one.of === wanted);
    shown.replaceChildren(...groups(some));
    count.textContent = `${some.length} of ${listed.length} findings`;
    remember({ of: wanted });
  };
  queueMicrotask(update);
  const names = Object.keys(all).filter((one) => all[one]?.length);
  return {
    title: "Findings about the published schemas",
    content: [
      el("p.lead", {}, "Where the published schema.json is not what the specification or its own schema.ts says. Each is corrected before anything is made from it."),
      el(
        "form.filters",
        { "aria-label": "Which findings", submit: (event) => event.preventDefault() },
        select({
          label: "Of",
          options: [["", "all"], ...names.map((one) => /** @type {[string, string]} */ ([one, one]))],
          value: wanted,
          change: (value) => {
            wanted = value;
            update();
          },
        }),
        count,
      ),
      shown,
    ],
  };
}

/** @param {Listed[]} listed */
function groups(listed) {
  const reasons = [...new Set(listed.map((one) => one.finding.reason))];
  return reasons.map((reason) => {
    const some = listed.filter((one) => one.finding.reason === reason);
    const links = some.map(({ of, at, finding }) =>
      el(
        "li",
        {},
        el("a", { href: findingAddress(of, at) }, of, " ", named(placeOf(finding))),
      ),
    );
    return el("section.reason", {}, el("h2", {}, reason), el("ul.columns", {}, links));
  });
}
