// Reads a JSON array of graphs in the language of Graphviz, writes a JSON array of SVGs.
const { readFileSync } = require("node:fs");
const { instance } = require("@viz-js/viz");

const graphs = JSON.parse(readFileSync(0, "utf8"));
instance().then((viz) => {
  const drawn = graphs.map((graph) => viz.renderString(graph, { format: "svg" }));
  process.stdout.write(JSON.stringify(drawn));
});
