/**
 * Loads the search index when a reader begins to search: it is many times as large as a page.
 *
 * zensical asks for it in each page, as a script where pages are files, else by XMLHttpRequest.
 * Both wait here.
 */
(() => {
  const INDEX = /\/search\.(js|json)$/;
  const { head } = document;
  // After a search, the page marks the words that were found, and needs the index for that.
  let asked = new URLSearchParams(location.search).has("h");
  /** @type {(() => void)[]} */
  const held = [];

  /** @param {string} address @param {() => void} load */
  function hold(address, load) {
    if (asked || !INDEX.test(address)) load();
    else held.push(load);
  }

  function begin() {
    asked = true;
    for (const load of held.splice(0)) load();
  }

  /** @param {Event} event */
  function used({ target }) {
    if (target instanceof Element && target.closest(".md-search, [for=__search]")) begin();
  }

  for (const kind of ["pointerover", "focusin", "click"]) addEventListener(kind, used, true);
  // zensical listens to this key once it has the index.
  addEventListener("keydown", (event) => {
    if (asked || event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    document.querySelector(".md-search")?.dispatchEvent(new MouseEvent("click"));
    begin();
  });

  /** @template {Node} T @param {T} node */
  head.appendChild = (node) => {
    const address = node instanceof HTMLScriptElement ? node.src : "";
    hold(address, () => Node.prototype.appendChild.call(head, node));
    return node;
  };

  window.XMLHttpRequest = class extends XMLHttpRequest {
    #address = "";

    /** @param {string} method @param {string | URL} address */
    open(method, address) {
      this.#address = String(address);
      super.open(method, address);
    }

    /** @param {Document | XMLHttpRequestBodyInit | null} [body] */
    send(body) {
      hold(this.#address, () => super.send(body));
    }
  };
})();
