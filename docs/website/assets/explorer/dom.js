/** Elements whose texts are never parsed as HTML. */

/** @typedef {Node | string | null | undefined | false} Child */
/** @typedef {string | number | boolean | undefined | ((event: Event) => void)} Attribute */

/**
 * An element: `"p.dim"` is a paragraph with a class. A function listens to an event.
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name | `${Name}.${string}`} selector
 * @param {Record<string, Attribute>} [attributes]
 * @param {(Child | Child[])[]} children
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function el(selector, attributes = {}, ...children) {
  const [name, ...classes] = selector.split(".");
  const made = /** @type {HTMLElementTagNameMap[Name]} */ (document.createElement(name ?? ""));
  if (classes.length) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined) made.setAttribute(key, String(value));
  }
  for (const child of children.flat()) if (child || child === "") made.append(child);
  return made;
}

/**
 * A text in which backticks enclose code.
 * @param {string} text
 * @returns {Child[]}
 */
export function prose(text) {
  return text.split("`").map((part, index) => (index % 2 ? el("code", {}, part) : part));
}

/**
 * A name as code, which may be broken after each of its parts.
 * @param {string} name
 */
export function named(name) {
  const parts = name.split(/(?<=[/.:_])/);
  return el(
    "code",
    {},
    parts.flatMap((part, at) => (at ? [el("wbr"), part] : [part])),
  );
}

/**
 * A link to a page of the specification, or the name of the page if its address is not known.
 * @param {{source?: string, url?: string}} one
 */
export function sourceLink({ source = "", url }) {
  return url ? el("a.source", { href: url }, source) : el("span.source", {}, source);
}

/**
 * A text for screen readers alone.
 * @param {string} text
 */
export function spoken(text) {
  return el("span.unseen", {}, text);
}

/**
 * A table that scrolls by itself if it is wide, also with the keyboard.
 * @param {string} caption
 * @param {HTMLTableElement} table
 */
function scrolling(caption, table) {
  return el("div.scroll", { role: "region", "aria-label": caption, tabindex: 0 }, table);
}

/**
 * A table with a caption and a row of headings.
 * @param {string} caption
 * @param {Child[]} heads
 * @param {HTMLTableRowElement[]} rows
 * @param {string} [style]
 */
export function table(caption, heads, rows, style = "") {
  return scrolling(
    caption,
    el(
      "table",
      style ? { class: style } : {},
      el("caption.unseen", {}, caption),
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          heads.map((head) => el("th", { scope: "col" }, head)),
        ),
      ),
      el("tbody", {}, rows),
    ),
  );
}

/**
 * A row whose first cell is its heading.
 * @param {Child | Child[]} head
 * @param {(Child | Child[])[]} cells
 */
export function row(head, ...cells) {
  return el(
    "tr",
    {},
    el("th", { scope: "row" }, head),
    cells.map((cell) => el("td", {}, cell)),
  );
}

/**
 * Indented JSON.
 * @param {unknown} value
 */
export function json(value) {
  return el("pre", { tabindex: 0 }, el("code", {}, JSON.stringify(value, null, 2)));
}

/**
 * A choice: values with their texts, the current value, and a listener.
 * @typedef {object} Choice
 * @property {string} label
 * @property {[string, string][]} options
 * @property {string} value
 * @property {(value: string) => void} change
 */

/**
 * A list to choose from, with its label.
 * @param {Choice} choice
 */
export function select({ label, options, value, change }) {
  const made = el(
    "select",
    { change: () => change(made.value) },
    options.map(([key, text]) => el("option", { value: key, selected: key === value }, text)),
  );
  return el("label.choice", {}, el("span", {}, label), made);
}

/**
 * A field to search with.
 * @param {string} value
 * @param {() => void} changed
 */
export function searchField(value, changed) {
  const never = { autocomplete: "off", spellcheck: "false" };
  return el("input", { type: "search", value, ...never, input: changed });
}

/**
 * A form of filters, which is never sent.
 * @param {string} label
 * @param {Child[]} children
 */
export function filterForm(label, ...children) {
  const submit = (/** @type {Event} */ event) => event.preventDefault();
  return el("form.filters", { "aria-label": label, submit }, children);
}

/**
 * Whether a text has all words of another one, in either case.
 * @param {string} text
 * @param {string} words
 */
export function holds(text, words) {
  const lower = text.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => lower.includes(word));
}

/**
 * Options whose values are their texts.
 * @param {string[]} names
 * @returns {[string, string][]}
 */
export function plainOptions(names) {
  return names.map((name) => [name, name]);
}
