// The official TypeScript SDK's client for skills: prints what it finds of a server's, and has verified.
// Arguments are the folder of the installed packages, and the URL of the server.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, url] = process.argv.slice(2);
const require = createRequire(join(folder, "anything.js"));
const load = (path) => import(pathToFileURL(require.resolve(join("@modelcontextprotocol/client", path))));
const { Client, StreamableHTTPClientTransport } = await load("");
const { SkillsClient } = await load("ext/skills");

const options = { capabilities: {}, versionNegotiation: { mode: "auto" } };
const client = new Client({ name: "typescript", version: "1" }, options);
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const skills = new SkillsClient(client);
const files = {};
const { skills: entries } = await skills.list();
for (const { uri } of entries) {
  const { skill } = await skills.get(uri);
  const read = await Promise.all(skill.resources.map((file) => skills.read(skill, file.uri)));
  files[uri] = read.filter((file) => file.verified).map((file) => file.uri);
}
const { resources } = await skills.readDirectory(entries[0].uri.replace(/\/SKILL\.md$/, ""));
const directory = resources.map(({ uri }) => uri);
const version = client.getNegotiatedProtocolVersion();
console.log(JSON.stringify({ version, files, directory }));
await client.close();
