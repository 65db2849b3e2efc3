/**
 * The fragment of the address names the view: `#/types/Tool?rev=2025-11-25`.
 *
 * Fragments also work in files, reach no server, and can be passed on.
 */

/** @typedef {{view: string, name: string, query: URLSearchParams}} Address */

/** @returns {Address} */
export function current() {
  const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view = "", ...rest] = path.split("/");
  return {
    view: view || "methods",
    name: rest.map(decoded).join("/"),
    query: new URLSearchParams(query),
  };
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // it was written by hand
  }
}

/**
 * @param {string} view
 * @param {string} [name]
 * @param {Record<string, string | undefined>} [query]
 */
export function address(view, name = "", query = {}) {
  const path = name ? `/${name.split("/").map(encodeURIComponent).join("/")}` : "";
  const given = Object.entries(query).filter(([, value]) => value);
  const text = new URLSearchParams(/** @type {[string, string][]} */ (given)).toString();
  return `#/${view}${path}${text ? `?${text}` : ""}`;
}

/**
 * Write a choice into the address, without a new entry in the history.
 * @param {Record<string, string>} chosen
 */
export function remember(chosen) {
  const { view, name, query } = current();
  for (const [key, value] of Object.entries(chosen)) {
    if (value) query.set(key, value);
    else query.delete(key);
  }
  history.replaceState(null, "", address(view, name, Object.fromEntries(query)));
}
