// The judge as the page has it, under Node: a case on each line of standard input, its verdict out.
// node judging.cjs FOLDER: the explorer's.

const { join } = require("node:path");
const { createInterface } = require("node:readline");

const folder = process.argv[2];
const data = {};
globalThis.mcpExplorer = { receive: (name, text) => (data[name] = JSON.parse(text)) };
require(join(folder, "judge.js"));

const { accepts, judge, read } = globalThis.mcpExplorer.judge;

const made = {};
require(join(folder, "data", "findings.js"));

function loaded(name) {
  return (made[name] ??= load(name));
}

function load(name) {
  require(join(folder, "data", `${name}.js`));
  return { ...data[name], findings: data.findings[name.split("+").at(-1)] ?? [] };
}

function answered({ name, subject, value, asked, text, schema }) {
  if (schema !== undefined) {
    const schemas = { mended: { Made: schema }, published: {}, envelopes: {} };
    return { accepted: accepts({ kind: "type", type: "Made" }, value, { schemas }) };
  }
  if (text !== undefined) {
    try {
      return { value: read(text).value };
    } catch (fault) {
      return { message: fault.message, ...fault.place };
    }
  }
  const revision = loaded(name.split("+")[0]);
  const extension = name.includes("+") ? loaded(name) : undefined;
  const accepted = subject ? accepts(subject, value, revision, extension) : null;
  if (!asked) return { accepted };
  return { accepted, verdict: judge(value, revision, extension ? [extension] : [], asked) };
}

createInterface({ input: process.stdin }).on("line", (line) => {
  process.stdout.write(`${JSON.stringify(answered(JSON.parse(line)))}\n`);
});
