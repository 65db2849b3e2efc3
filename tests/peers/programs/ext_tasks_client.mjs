// The official package for tasks with the official TypeScript SDK's client, over HTTP; what it is
// given and prints is in `driving.py`. The argument is the folder of the installed packages.

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder] = process.argv.slice(2);
const require = createRequire(join(folder, "anything.js"));
const load = (...path) => import(pathToFileURL(join(folder, "@modelcontextprotocol", ...path)));
const sdk = await import(pathToFileURL(require.resolve("@modelcontextprotocol/client")));
const ext = await load("ext-tasks", "dist", "client", "index.js");
const { bindTaskReceiver } = await load("ext-tasks", "dist", "receiver", "index.js");

const STATELESS = "2026-07-28";
const INFO = { name: "ext-tasks", version: "1" };
const CAPABILITIES = { sampling: {}, roots: {}, elicitation: { form: {} } };

const inputs = (step) => ({
  elicitation: ({ params }) => {
    step.asked.push(params.message);
    return step.answers.shift() ?? { action: "cancel" };
  },
  sampling: () => ({ role: "assistant", model: "model", content: { type: "text", text: "sampled" } }),
  roots: () => ({ roots: [{ uri: "file:///root" }] }),
});

// The SDK does not know the messages of the extension, so that they go their own way.
const raw = (url) => {
  let id = 0;
  return async (request, { signal } = {}) => {
    const { method, params } = request;
    const response = await fetch(url, {
      method: "POST",
      signal,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": STATELESS,
        "mcp-method": method,
        "mcp-name": params.name ?? params.taskId,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: `raw-${++id}`, ...request }),
    });
    const said = await response.text();
    const events = said.split("\n").filter((line) => line.startsWith("data: {"));
    const { result, error } = JSON.parse(events.at(-1)?.slice(6) ?? said);
    return error ? { kind: "error", error } : { kind: "result", result };
  };
};

const isStateless = (client) => client.getNegotiatedProtocolVersion() === STATELESS;

const sessionOf = (client, url, step) => {
  const framing = { protocolVersion: STATELESS, clientInfo: INFO, clientCapabilities: CAPABILITIES };
  return ext.createTaskSessionFromClient(client, {
    endpointId: url,
    onInputRequest: ext.createApplicationInputHandler(inputs(step)),
    ...(isStateless(client) ? { rawDispatch: raw(url), v2RequestFraming: framing } : {}),
  });
};

// In the form of 2025-11-25 a server asks on the stream of `tasks/result`. The package opens it at the
// end of the task, and leaves it to its host to be asked before.
const askedOn = (client, taskId) => {
  const anything = { "~standard": { version: 1, vendor: "host", validate: (value) => ({ value }) } };
  return client.request({ method: "tasks/result", params: { taskId } }, anything);
};

// What a visit can consist of; a function for each step.
const stepsOf = (client, session, step) => {
  const stateless = isStateless(client);
  const call = async (name, given, answers = [], preference = "allow") => {
    Object.assign(step, { answers: [...answers], asked: [] });
    const execution = await session.callTool(name, given, { task: { preference } });
    const statuses = [];
    const onEvent = async (event) => {
      const status = ext.taskViewFromExecutionEvent(event)?.status;
      statuses.push(status);
      if (status === "input_required" && !stateless) void askedOn(client, execution.handle.taskId);
    };
    const { outcome } = await execution.settle({ onEvent });
    const result = ext.resultFromTaskOutcome(outcome);
    const shown = execution.kind === "task" ? [statuses[0], outcome.status] : [];
    return { ...result, asked: step.asked, statuses: shown };
  };
  return {
    call,
    task: (name, given, answers) => call(name, given, answers, "prefer"),
    stop: async (name, given) => {
      const execution = await session.callTool(name, given, { task: { preference: "require" } });
      const { taskId } = execution.handle;
      await session.cancelTask(taskId);
      await execution.close();
      for (;;) {
        const { status } = await session.task(taskId).snapshot();
        if (status !== "working") return status;
      }
    },
    // Answers what is asked as tasks of its own, and nothing else.
    receive: async (name, given, answers = []) => {
      const { elicitation, sampling } = inputs(step);
      const receiver = bindTaskReceiver(client, {
        methods: { "sampling/createMessage": true, "elicitation/create": true },
        pollIntervalMs: 50,
        sampling: async () => sampling(),
        elicitation: async (request) => elicitation(request),
      });
      return call(name, given, answers).finally(() => receiver.close());
    },
    status: async (id) => (await session.task(id).snapshot()).status,
  };
};

const visited = async ({ server, revision, steps }) => {
  const seen = { results: [] };
  const step = { answers: [], asked: [] };
  const mode = revision === "2025-11-25" ? "legacy" : "auto";
  const tasks = { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } };
  const capabilities = mode === "legacy" ? { ...CAPABILITIES, tasks } : CAPABILITIES;
  const client = new sdk.Client(INFO, { capabilities, versionNegotiation: { mode } });
  await client.connect(new sdk.StreamableHTTPClientTransport(new URL(server)));
  seen.revision = client.getNegotiatedProtocolVersion();
  seen.server = client.getServerVersion().name;
  const session = sessionOf(client, server, step);
  const known = stepsOf(client, session, step);
  for (const [name, ...given] of steps) {
    // Of a task that failed, the form of 2025-11-25 gives no code here.
    const failed = ({ code, message }) => ({ error: [code ?? message, message] });
    seen.results.push((await known[name](...given).catch(failed)) ?? null);
  }
  await session.close();
  await client.close();
  return seen;
};

for await (const line of createInterface({ input: process.stdin })) {
  const seen = await visited(JSON.parse(line)).catch((error) => ({ failed: `${error.stack}\n${error.cause ?? ""}` }));
  console.log(`SEEN ${JSON.stringify(seen)}`);
}
