/** Data, loaded on demand. It comes in scripts: a page from a file can load nothing else. */

/** @import {Comparison, Extension, Finding, Index, Judge, Revision} from "./types.js" */

/** @type {Map<string, unknown>} */
const received = new Map();
/** @type {Map<string, Promise<void>>} */
const loading = new Map();

globalThis.mcpExplorer = { receive: (name, text) => received.set(name, JSON.parse(text)) };

/** @param {string} path */
function script(path) {
  const known = loading.get(path);
  if (known) return known;
  /** @type {Promise<void>} */
  const made = new Promise((resolve, reject) => {
    const element = document.createElement("script");
    element.src = path;
    element.addEventListener("load", () => resolve());
    element.addEventListener("error", () => {
      loading.delete(path);
      reject(new Error(`${path} could not be loaded`));
    });
    document.head.append(element);
  });
  loading.set(path, made);
  return made;
}

/**
 * @param {string} name
 * @returns {Promise<any>}
 */
async function data(name) {
  if (!received.has(name)) await script(`data/${encodeURIComponent(name)}.js`);
  return received.get(name);
}

/** @returns {Promise<Index>} */
export function index() {
  return data("index");
}

/** @returns {Promise<Record<string, Finding[]>>} */
export function findings() {
  return data("findings");
}

/**
 * @param {string} id
 * @returns {Promise<Revision>}
 */
export async function revision(id) {
  const [one, all] = await Promise.all([data(id), findings()]);
  one.findings = all[id];
  return one;
}

/**
 * @param {string} title such as `2026-07-28+tasks`
 * @returns {Promise<Extension>}
 */
export async function extension(title) {
  const [one, all] = await Promise.all([data(title), findings()]);
  one.findings = all[one.name];
  return one;
}

/**
 * @param {string} before
 * @param {string} after
 * @returns {Promise<Comparison>}
 */
export function comparison(before, after) {
  return data(`${before}..${after}`);
}

/** @returns {Promise<Judge>} */
export async function judge() {
  await script("judge.js");
  const made = globalThis.mcpExplorer.judge;
  if (!made) throw new Error("judge.js brought no judge");
  return made;
}
