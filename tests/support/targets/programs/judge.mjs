// Judges samples, [type, value] each, of a revision, and prints the pointers of the faults of each.
import { readFileSync } from "node:fs";

const [module, samples] = process.argv.slice(2);
const { parse } = await import(`./${module}.js`);
const found = JSON.parse(readFileSync(samples, "utf8")).map(([type, value]) => {
  const read = parse(type, value);
  return read.ok ? [] : read.errors.map(({ pointer }) => pointer);
});
process.stdout.write(JSON.stringify(found));
