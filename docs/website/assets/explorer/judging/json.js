/**
 * A reader of JSON (RFC 8259) that knows the line and the column of each value.
 *
 * `JSON.parse` reports places differently in each browser, and accepts repeated members.
 */

/** @import {Json, JsonObject, Place} from "../types.js" */

const DEPTH = 400;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]+/y;
const SPACE = /[ \t\n\r]*/y;
/** @type {Record<string, string>} */
const ESCAPES = { '"': '"', "\\": "\\", "/": "/", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t" };
/** @type {[string, Json][]} */
const WORDS = [
  ["true", true],
  ["false", false],
  ["null", null],
];

/** A syntax error, with its place. */
class JsonFault extends Error {
  /**
   * @param {string} message
   * @param {Place} place
   */
  constructor(message, place) {
    super(message);
    this.name = "JsonFault";
    this.place = place;
  }
}

/**
 * A step of an RFC 6901 JSON Pointer.
 * @param {string | number} token
 */
export function step(token) {
  return `/${String(token).replaceAll("~", "~0").replaceAll("/", "~1")}`;
}

/**
 * The value in a text, the place of each part by JSON Pointer, and notes for the reader.
 * @param {string} text
 * @returns {{value: Json, places: Map<string, Place>, notes: string[]}}
 * @throws {JsonFault}
 */
export function read(text) {
  const reader = new Reader(text);
  const value = reader.whole();
  return { value, places: reader.places, notes: reader.notes };
}

class Reader {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
    this.at = 0;
    /** @type {Map<string, Place>} */
    this.places = new Map();
    /** @type {string[]} */
    this.notes = [];
    this.lines = [0];
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", end + 1)) {
      this.lines.push(end + 1);
    }
  }

  whole() {
    const value = this.value("", 0);
    this.matched(SPACE);
    if (this.at < this.text.length) throw this.fault("text follows the value");
    return value;
  }

  /**
   * @param {string} pointer
   * @param {number} depth
   * @returns {Json}
   */
  value(pointer, depth) {
    this.matched(SPACE);
    this.places.set(pointer, this.place(this.at));
    if (depth > DEPTH) throw this.fault(`this is nested more than ${DEPTH} deep`);
    const next = this.text[this.at];
    if (next === "{") return this.object(pointer, depth);
    if (next === "[") return this.array(pointer, depth);
    if (next === '"') return this.string();
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number(pointer);
  }

  /**
   * @param {string} pointer
   * @param {number} depth
   */
  object(pointer, depth) {
    /** @type {JsonObject} */
    const value = {};
    this.at += 1;
    if (this.takes("}")) return value;
    do {
      this.matched(SPACE);
      if (this.text[this.at] !== '"')
        throw this.fault("the name of a member is expected, in quotes");
      const name = this.string();
      if (!this.takes(":")) throw this.fault("a colon is expected after the name of a member");
      if (Object.hasOwn(value, name)) {
        this.notes.push(`“${name}” occurs twice in one object; the last one counts here.`);
      }
      const member = this.value(pointer + step(name), depth + 1);
      // An assignment would set the prototype if the name is __proto__.
      Object.defineProperty(value, name, {
        value: member,
        configurable: true,
        enumerable: true,
        writable: true,
      });
    } while (this.takes(","));
    if (!this.takes("}")) throw this.fault("a comma or } is expected");
    return value;
  }

  /**
   * @param {string} pointer
   * @param {number} depth
   */
  array(pointer, depth) {
    /** @type {Json[]} */
    const value = [];
    this.at += 1;
    if (this.takes("]")) return value;
    do {
      value.push(this.value(pointer + step(value.length), depth + 1));
    } while (this.takes(","));
    if (!this.takes("]")) throw this.fault("a comma or ] is expected");
    return value;
  }

  string() {
    let value = "";
    for (this.at += 1; ;) {
      value += this.matched(PLAIN);
      const next = this.text[this.at];
      if (next === '"') break;
      if (next === "\\") value += this.escape();
      else throw this.fault(next === undefined ? "a quote is missing" : "a control character");
    }
    this.at += 1;
    return value;
  }

  escape() {
    const letter = this.text[this.at + 1] ?? "";
    const plain = ESCAPES[letter];
    if (plain !== undefined) {
      this.at += 2;
      return plain;
    }
    const digits = this.text.slice(this.at + 2, this.at + 6);
    if (letter !== "u" || !/^[0-9a-fA-F]{4}$/.test(digits)) throw this.fault("an unknown escape");
    this.at += 6;
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  /** @param {string} pointer */
  number(pointer) {
    const start = this.at;
    const digits = this.matched(NUMBER);
    if (!digits) {
      throw this.fault(
        start < this.text.length ? "this begins no JSON value" : "a value is missing",
      );
    }
    const value = Number(digits);
    if (!Number.isFinite(value)) throw this.fault("a number that is too large", start);
    if (/^-?[0-9]+$/.test(digits) && !Number.isSafeInteger(value)) {
      this.notes.push(`The number at “${pointer}” is larger than what every reader keeps exactly.`);
    }
    return value;
  }

  /**
   * The text that a pattern matches here; reading continues after it.
   * @param {RegExp} pattern
   */
  matched(pattern) {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text)?.[0] ?? "";
    this.at += found.length;
    return found;
  }

  /** @param {string} mark */
  takes(mark) {
    this.matched(SPACE);
    if (this.text[this.at] !== mark) return false;
    this.at += 1;
    return true;
  }

  /**
   * @param {string} message
   * @param {number} at
   */
  fault(message, at = this.at) {
    return new JsonFault(message, this.place(at));
  }

  /**
   * @param {number} at
   * @returns {Place}
   */
  place(at) {
    let [low, high] = [0, this.lines.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.lines[middle] ?? 0) <= at) low = middle;
      else high = middle - 1;
    }
    return { line: low + 1, column: at - (this.lines[low] ?? 0) + 1 };
  }
}
