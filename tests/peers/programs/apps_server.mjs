// A server made with the official SDK for user interfaces of tools, on standard input and output.
// The argument is the folder of the installed packages.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder] = process.argv.slice(2);
const require = createRequire(join(folder, "anything.js"));
const load = (path) => import(pathToFileURL(require.resolve(path)));
const apps = await load("@modelcontextprotocol/ext-apps/server");
const { CLIENT_CAPABILITIES_META_KEY, McpServer } = await load("@modelcontextprotocol/server");
const { serveStdio } = await load("@modelcontextprotocol/server/stdio");
const { z } = await load("zod");

const URI = "ui://weather/view";
const UI = {
  csp: { connectDomains: ["https://weather.example"] },
  permissions: { geolocation: {} },
  prefersBorder: true,
};

const text = (value) => ({ content: [{ type: "text", text: value }] });
const page = (uri, more) => async () => ({
  contents: [{ uri, mimeType: apps.RESOURCE_MIME_TYPE, text: "<!doctype html>", ...more }],
});

serveStdio(() => {
  const server = new McpServer({ name: "apps", version: "1" });
  apps.registerAppTool(
    server,
    "forecast",
    { inputSchema: z.object({ city: z.string() }), _meta: { ui: { resourceUri: URI } } },
    async ({ city }) => text(`rain in ${city}`),
  );
  apps.registerAppTool(
    server,
    "refresh",
    { _meta: { ui: { resourceUri: "ui://weather/listed", visibility: ["app"] } } },
    async () => text("refreshed"),
  );
  // What the client has declared, as the SDK reads it.
  server.registerTool("host", {}, async ({ mcpReq }) => {
    const declared = mcpReq.envelope?.[CLIENT_CAPABILITIES_META_KEY] ?? server.server.getClientCapabilities();
    return text(JSON.stringify(apps.getUiCapability(declared) ?? null));
  });
  apps.registerAppResource(server, "view", URI, {}, page(URI, { _meta: { ui: UI } }));
  apps.registerAppResource(
    server,
    "listed",
    "ui://weather/listed",
    { _meta: { ui: UI } },
    page("ui://weather/listed"),
  );
  return server;
});
