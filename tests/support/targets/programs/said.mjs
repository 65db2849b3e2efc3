// What the validator says of single values, as JSON.
import { reader } from "./wire.js";
import { is, parse } from "./v2025_11_25.js";

const of = (shape) => (value) => {
  const read = reader({ Value: shape }).parse("Value", value);
  return read.ok ? [] : read.errors.map(({ pointer, message }) => `${pointer} ${message}`);
};
const named = (type) => (value) => {
  const read = parse(type, value);
  return read.ok ? [] : read.errors.map(({ pointer, message }) => `${pointer} ${message}`);
};
const thrown = (run) => {
  try {
    return run();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
};
const nested = (levels) => JSON.parse("[".repeat(levels) + "]".repeat(levels));
const tricky = { members: { ["__proto__"]: "string" }, required: ["__proto__"] };
const value = { name: "x" };
const long = { of: "string", minLength: 2, maxLength: 2 };

console.log(
  JSON.stringify({
    "the value itself": parse("BaseMetadata", value).value === value,
    "a guard": [is("Role", "user"), is("Role", "nobody")],
    "an unknown type": thrown(() => parse("Tol", {})),
    "a name of Object": thrown(() => parse("toString", {})),
    "several faults": named("Tool")({ name: 1, icons: [{ src: "x" }, {}] }),
    "an unknown tag": named("ContentBlock")({ type: "vidéo" }),
    "no tag": named("ContentBlock")({}),
    "the closest arm": named("ElicitRequestParams")({ mode: "url", message: "m", url: "u" }),
    "arms without members": named("RequestId")(1.5),
    "undefined is absent": named("BaseMetadata")({ name: undefined, title: undefined }),
    "undefined is no value": of({ items: "any" })([null, undefined]),
    "escapes": of({ values: { values: "null" } })({ "a/b": { "~": 1 } }),
    "no prototype": [of(tricky)({}), of(tricky)(JSON.parse('{"__proto__": "x"}'))],
    "characters": ["😀", "😀😀", "😀😀😀"].map(of(long)),
    "integers": [1, -0, 1.0, 1e300, 1.5, "1", true, Infinity].map(of("integer")).map(String),
    "numbers": [1.5, NaN, Infinity, null].map(of("number")).map(String),
    "no JSON": [NaN, 1n, undefined, Symbol(), () => 1].map(of("any")).map(String),
    "holes": [of({ items: "string" })([, "a"]), of({ items: "any" })([1, , 2])],
    "very deep": [200, 201, 100_000].map((levels) => of({ items: { ref: "Value" } })(nested(levels))).map(String),
    "objects": [[], null, "x"].map(of({ values: "any" })).map(String),
    "items": of({ of: { items: "any" }, maxItems: 1, minItems: 1 })([1, 2]),
    "bounds": [of({ of: "integer", minimum: 0 })(-1), of({ of: "number", maximum: 1 })(1.5)],
    "very many faults": named("CompleteResult")({
      completion: { values: Array(200_000).fill(0) },
    }).length,
    "at least one": of({ members: { a: "any", b: "any" }, required: [], anyOfRequired: ["a", "b"] })({}),
  }),
);
