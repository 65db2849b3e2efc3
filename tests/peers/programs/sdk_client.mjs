// The official TypeScript SDK's client against the server whose command line or URL it is given.
// The first argument is the folder of the installed packages. Prints, as JSON, what it got to see.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder, command, ...args] = process.argv.slice(2);
const require = createRequire(join(folder, "anything.js"));
const load = (path) => import(pathToFileURL(require.resolve(`@modelcontextprotocol/sdk/${path}`)));
const { Client } = await load("client/index.js");
const { SSEClientTransport } = await load("client/sse.js");
const { StdioClientTransport } = await load("client/stdio.js");
const { StreamableHTTPClientTransport } = await load("client/streamableHttp.js");
const types = await load("types.js");

const seen = { logs: [], progress: [], notifications: [] };
const client = new Client(
  { name: "typescript", version: "1" },
  { capabilities: { sampling: {}, roots: {}, elicitation: {} } },
);
const answer = (schema, make) => client.setRequestHandler(schema, async () => make());
answer(types.ElicitRequestSchema, () => ({ action: "accept", content: { name: "ada" } }));
answer(types.ListRootsRequestSchema, () => ({ roots: [{ uri: "file:///root" }] }));
answer(types.CreateMessageRequestSchema, () => ({
  role: "assistant",
  model: "model",
  content: { type: "text", text: "sampled" },
}));
for (const schema of [
  types.ResourceUpdatedNotificationSchema,
  types.ToolListChangedNotificationSchema,
]) {
  client.setNotificationHandler(schema, (message) => seen.notifications.push(message.method));
}
client.setNotificationHandler(types.LoggingMessageNotificationSchema, (message) =>
  seen.logs.push(message.params.data),
);

const text = async (name, options) => {
  const params = { name, arguments: { text: "hi", to: 3 } };
  const result = await client.callTool(params, undefined, options);
  return result.content[0].text;
};

// By HTTP if there is a URL, and by HTTP+SSE if that ends so.
const overHttp = command.startsWith("http://");
const transport = !overHttp
  ? new StdioClientTransport({ command, args, env: process.env })
  : command.endsWith("/sse")
    ? new SSEClientTransport(new URL(command))
    : new StreamableHTTPClientTransport(new URL(command));
// Which revision it is, the SDK tells its transport alone.
const { setProtocolVersion } = transport;
transport.setProtocolVersion = (version) => {
  seen.revision = version;
  setProtocolVersion?.call(transport, version);
};
await client.connect(transport);
seen.server = client.getServerVersion().name;
seen.instructions = client.getInstructions();
seen.tools = [];
let cursor;
do {
  const page = await client.listTools({ cursor });
  seen.tools.push(...page.tools.map((tool) => tool.name));
  cursor = page.nextCursor;
} while (cursor !== undefined);
seen.resources = (await client.listResources()).resources.map((one) => one.uri);
seen.read = (await client.readResource({ uri: "file:///a" })).contents[0].text;
seen.prompts = (await client.listPrompts()).prompts.map((one) => one.name);
const prompt = await client.getPrompt({ name: "greet", arguments: { name: "ada" } });
seen.prompt = prompt.messages[0].content.text;
const ref = { type: "ref/prompt", name: "greet" };
seen.completed = (await client.complete({ ref, argument: { name: "name", value: "a" } })).completion.values;
await client.ping();
await client.setLoggingLevel("info");
const called = ["echo", "log", "sample", "roots", "stray"];
for (const name of seen.revision < "2025-06-18" ? called : [...called, "ask"]) seen[name] = await text(name);
if (overHttp) seen.poll = await text("poll");
seen.structured = (await client.callTool({ name: "media" })).structuredContent ?? null;
const errorOf = (failing) => failing.then(JSON.stringify, ({ code, message }) => [code, message]);
seen.missing = await errorOf(client.readResource({ uri: "file:///none" }));
seen.crash = await errorOf(client.callTool({ name: "crash" }));
seen.count = await text("count", {
  onprogress: ({ progress, total, message }) => seen.progress.push([progress, total, message]),
});
await client.subscribeResource({ uri: "file:///a" });
await text("change");
await client.unsubscribeResource({ uri: "file:///a" });
const control = new AbortController();
setTimeout(() => control.abort("enough"), 300);
seen.sleep = await text("sleep", { signal: control.signal }).catch(() => "cancelled");
if (overHttp) seen.told = await text("told");
seen.after = await text("echo");
// Closing alone leaves the session to lapse.
await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify(seen));
