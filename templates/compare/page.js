"use strict";

// Filters what the page already shows. What is chosen stands in the fragment of the address, so
// that a view can be passed on; a fragment that begins with "change-" is a link to one change.
(() => {
  const form = document.getElementById("filters");
  const changes = [...document.querySelectorAll("#changes tbody tr")]
    .sort((one, other) => one.dataset.order - other.dataset.order)
    .map((row) => ({ row, text: textOf(row, ".item code, .message, summary, .before, .after") }));
  const rows = [...document.querySelectorAll("#matrix tbody tr:not(.group)")]
    .map((row) => ({ row, text: textOf(row, "th"), category: row.parentElement.dataset.category }));
  const sections = [...document.querySelectorAll("#changes .severity")];
  const moving = document.getElementById("moving");
  // What the page was written for; a browser that keeps choices may have another one here by now.
  const firstReader = document.documentElement.dataset.reader;
  const severities = [...form.querySelectorAll("[name=severity]")];
  let waiting = 0;

  function textOf(row, selector) {
    const parts = [...row.querySelectorAll(selector)];
    return parts.map((part) => part.textContent).join("\n").toLowerCase();
  }

  function matches(text, query) {
    return query.every((word) => text.includes(word));
  }

  function chosen() {
    return {
      reader: form.elements.for.value,
      severities: new Set(severities.filter((box) => box.checked).map((box) => box.value)),
      category: form.elements.category.value,
      query: form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean),
      moving: Boolean(moving && moving.checked),
    };
  }

  function apply() {
    const wanted = chosen();
    document.documentElement.dataset.reader = wanted.reader;
    const shown = showChanges(wanted);
    const matching = showRows(wanted);
    const rest = rows.length ? `, ${matching} of ${rows.length} rows` : "";
    document.getElementById("shown").value = `${shown} of ${changes.length} changes${rest}`;
  }

  function showChanges(wanted) {
    const found = new Map(sections.map((section) => [section.dataset.severity, []]));
    for (const { row, text } of changes) {
      const severity = row.dataset[wanted.reader || "worst"];
      row.hidden = !(
        wanted.severities.has(severity) &&
        (!wanted.category || row.dataset.category === wanted.category) &&
        matches(text, wanted.query)
      );
      found.get(severity).push(row);
    }
    let total = 0;
    for (const section of sections) {
      const all = found.get(section.dataset.severity);
      const shown = all.filter((row) => !row.hidden).length;
      const body = section.querySelector("tbody");
      // Moving rows is what takes time; most filters leave them where they are.
      if (all.length !== body.children.length || all.some((row, at) => body.children[at] !== row)) {
        body.append(...all);
      }
      section.hidden = !shown;
      section.querySelector(".number").textContent =
        shown === all.length ? `${shown}` : `${shown} of ${all.length}`;
      total += shown;
    }
    const empty = document.getElementById("no-changes");
    empty.hidden = total > 0;
    empty.textContent = changes.length ? "No change matches." : "No changes.";
    return total;
  }

  function showRows(wanted) {
    let total = 0;
    for (const { row, text, category } of rows) {
      row.hidden = !(
        (!wanted.category || category === wanted.category) &&
        (!wanted.moving || "moves" in row.dataset) &&
        matches(text, wanted.query)
      );
      total += row.hidden ? 0 : 1;
    }
    for (const group of document.querySelectorAll("#matrix tbody")) {
      group.hidden = !group.querySelector("tr:not(.group):not([hidden])");
    }
    if (rows.length) document.getElementById("no-rows").hidden = total > 0;
    return total;
  }

  function choose({ reader, wanted, category, query, moves }) {
    for (const radio of form.elements.for) radio.checked = radio.value === reader;
    for (const box of severities) box.checked = wanted.has(box.value);
    form.elements.category.value = category;
    form.elements.q.value = query;
    if (moving) moving.checked = moves;
    apply();
  }

  function everything() {
    return {
      reader: firstReader,
      wanted: new Set(severities.map((box) => box.value)),
      category: "",
      query: "",
      moves: false,
    };
  }

  function remember() {
    clearTimeout(waiting);
    const state = new URLSearchParams();
    const { reader, severities: wanted } = chosen();
    if (reader !== firstReader) state.set("for", reader);
    if (wanted.size !== severities.length) state.set("severity", [...wanted].join(" "));
    if (form.elements.category.value) state.set("category", form.elements.category.value);
    if (form.elements.q.value) state.set("q", form.elements.q.value);
    if (moving && moving.checked) state.set("differ", "");
    const { pathname, search } = location;
    history.replaceState(null, "", `${state}` ? `#${state}` : pathname + search);
  }

  function follow() {
    clearTimeout(waiting);
    const fragment = location.hash.slice(1);
    const target = fragment && document.getElementById(fragment);
    if (target) {
      if (target.closest("tr") && target.hidden) choose(everything());
      target.scrollIntoView({ block: "start", behavior: "instant" });
    } else if (fragment.includes("=")) {
      const state = new URLSearchParams(fragment);
      const all = everything();
      choose({
        reader: state.get("for") ?? all.reader,
        wanted: state.has("severity") ? new Set(state.get("severity").split(" ")) : all.wanted,
        category: state.get("category") ?? "",
        query: state.get("q") ?? "",
        moves: state.has("differ"),
      });
    }
  }

  // Browsers limit how often an address may change: a word that is being typed is waited for.
  function changed(event) {
    apply();
    clearTimeout(waiting);
    waiting = setTimeout(remember, event.target.type === "search" ? 300 : 0);
  }

  function enhanceTally() {
    for (const cell of document.querySelectorAll(".tally td[data-reader]")) {
      if (cell.textContent === "0") continue;
      const { reader, severity } = cell.dataset;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = cell.textContent;
      button.setAttribute("aria-label", `${cell.textContent}: show ${severity} for ${reader}`);
      button.addEventListener("click", () => {
        choose({ ...everything(), reader, wanted: new Set([severity]) });
        remember();
        document.getElementById("changes").scrollIntoView();
      });
      cell.replaceChildren(button);
    }
  }

  // What is scrolled to, and the heads of tables, have to stay clear of the filters.
  function keepClear() {
    document.documentElement.style.setProperty("--bar", `${form.offsetHeight - 1}px`);
  }

  form.hidden = false;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", changed);
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    choose(everything());
    remember();
  });
  if (moving) {
    moving.closest("label").hidden = false;
    moving.addEventListener("input", changed);
  }
  enhanceTally();
  apply();
  new ResizeObserver(keepClear).observe(form);
  keepClear();
  window.addEventListener("hashchange", follow);
  follow();
})();
