// A host made with the official SDK for user interfaces of tools. It prints, as JSON, what it sees
// of a server that is a program. Arguments are the folder of the installed packages, how the host
// negotiates ("auto" or "legacy"), whether it declares that it is one, and the command.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, mode, declares, command, ...args] = process.argv.slice(2);
const require = createRequire(join(folder, "anything.js"));
const load = (path) => import(pathToFileURL(require.resolve(path)));
const bridge = await load("@modelcontextprotocol/ext-apps/app-bridge");
const { EXTENSION_ID } = await load("@modelcontextprotocol/ext-apps/server");
const { Client } = await load("@modelcontextprotocol/client");
const { StdioClientTransport } = await load("@modelcontextprotocol/client/stdio");

const settings = { mimeTypes: [bridge.RESOURCE_MIME_TYPE] };
const capabilities = declares === "true" ? { extensions: { [EXTENSION_ID]: settings } } : {};
const client = new Client({ name: "host", version: "1" }, { capabilities, versionNegotiation: { mode } });
await client.connect(new StdioClientTransport({ command, args, env: { ...process.env } }));

const tools = {};
for (const tool of (await client.listTools()).tools) {
  const uri = bridge.getToolUiResourceUri(tool);
  const ui = tool._meta?.ui;
  tools[tool.name] = {
    meta: tool._meta ?? null,
    fits: ui === undefined ? null : bridge.McpUiToolMetaSchema.strict().safeParse(ui).success,
    modelOnly: bridge.isToolVisibilityModelOnly(tool),
    appOnly: bridge.isToolVisibilityAppOnly(tool),
    uri: uri ?? null,
  };
  if (uri !== undefined) {
    const [contents] = (await client.readResource({ uri })).contents;
    const page = contents._meta?.ui ?? {};
    tools[tool.name].page = {
      html: contents.text,
      isApp: contents.mimeType === bridge.RESOURCE_MIME_TYPE,
      fits: bridge.McpUiResourceMetaSchema.strict().safeParse(page).success,
      allows: bridge.buildAllowAttribute(page.permissions),
      meta: contents._meta ?? null,
    };
  }
}
const resources = {};
for (const one of (await client.listResources()).resources) {
  resources[one.uri] = { mimeType: one.mimeType, meta: one._meta ?? null };
}
const extensions = client.getServerCapabilities().extensions ?? {};
console.log(JSON.stringify({ tools, resources, extensions }));
await client.close();
