// The official TypeScript SDK's client; what it is given and prints is in `driving.py`.
// Arguments are the folder of the installed packages, and the generation of the SDK.

import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [folder, generation] = process.argv.slice(2);
const require = createRequire(join(folder, "anything.js"));
const load = (path) => import(pathToFileURL(require.resolve(path)));
const first = generation === "1";
const paths = first
  ? ["client/auth.js", "client/index.js", "client/sse.js", "client/stdio.js", "client/streamableHttp.js", "types.js"]
  : ["", "stdio"];
const name = first ? "@modelcontextprotocol/sdk" : "@modelcontextprotocol/client";
const sdk = Object.assign({}, ...(await Promise.all(paths.map((path) => load(join(name, path))))));

// The first generation names requests and notifications by their schemas.
const SCHEMAS = {
  "elicitation/create": "ElicitRequestSchema",
  "roots/list": "ListRootsRequestSchema",
  "sampling/createMessage": "CreateMessageRequestSchema",
  "notifications/resources/updated": "ResourceUpdatedNotificationSchema",
  "notifications/tools/list_changed": "ToolListChangedNotificationSchema",
  "notifications/message": "LoggingMessageNotificationSchema",
};
const known = (method) => (first ? sdk[SCHEMAS[method]] : method);
const CHANGES = ["notifications/resources/updated", "notifications/tools/list_changed"];
// Without it, servers of the stateless revision have to keep their logs to themselves.
const LOGS = { _meta: { "io.modelcontextprotocol/logLevel": "debug" } };

const host = (seen, step) => {
  const options = { capabilities: { sampling: {}, roots: {}, elicitation: { form: {}, url: {} } } };
  const made = new sdk.Client(
    { name: "typescript", version: "1" },
    first ? options : { ...options, versionNegotiation: { mode: "auto" } },
  );
  const answer = (method, make) => made.setRequestHandler(known(method), async (asked) => make(asked));
  answer("elicitation/create", ({ params }) => {
    step.asked.push(params.message);
    return step.answers.shift() ?? { action: "cancel" };
  });
  answer("roots/list", () => ({ roots: [{ uri: "file:///root" }] }));
  answer("sampling/createMessage", () => ({
    role: "assistant",
    model: "model",
    content: { type: "text", text: "sampled" },
  }));
  for (const method of CHANGES) {
    made.setNotificationHandler(known(method), () => void step.changes.push(method));
  }
  made.setNotificationHandler(known("notifications/message"), ({ params }) => void seen.logs.push(params.data));
  made.onerror = (error) => seen.errors.push(String(error));
  return made;
};

// What gets a token by a code. The user agrees at once.
class SignIn {
  constructor({ redirect_uri, document, dpop }) {
    this.redirectUrl = redirect_uri;
    this.clientMetadataUrl = document;
    this.clientMetadata = { client_name: "typescript", redirect_uris: [redirect_uri] };
    if (dpop) {
      const session = sdk.DpopSession.create();
      this.dpop = () => session;
    }
  }
  state = () => crypto.randomUUID();
  clientInformation = () => this.client;
  saveClientInformation = (client) => void (this.client = client);
  tokens = () => this.saved;
  saveTokens = (tokens) => void (this.saved = tokens);
  saveCodeVerifier = (verifier) => void (this.verifier = verifier);
  codeVerifier = () => this.verifier;
  async redirectToAuthorization(url) {
    const response = await fetch(url, { redirect: "manual" });
    if (response.status !== 302) throw new Error(await response.text());
    this.redirected = new URL(response.headers.get("location")).searchParams;
  }
  // What comes of work, which is done once more when the user has agreed.
  async signedIn(transport, work) {
    return work().catch(async (error) => {
      if (!(error instanceof sdk.UnauthorizedError)) throw error;
      await transport().finishAuth(first ? this.redirected.get("code") : this.redirected);
      return work();
    });
  }
}

// By HTTP if there is a URL, and by HTTP+SSE if that ends so.
const transportTo = (server, authProvider) => {
  if (typeof server !== "string") {
    const [command, ...args] = server;
    return new sdk.StdioClientTransport({ command, args, env: process.env });
  }
  const Transport = server.endsWith("/sse") ? sdk.SSEClientTransport : sdk.StreamableHTTPClientTransport;
  return new Transport(new URL(server), { authProvider });
};

// What a visit can consist of; a function for each step.
const stepsOf = (client, seen, step) => {
  const pages = async (method, member) => {
    const found = [];
    let cursor;
    do {
      const page = await client[method]({ cursor });
      found.push(...page[member]);
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    return found;
  };
  const call = async (name, given, answers = [], progress = false, more = {}) => {
    Object.assign(step, { answers: [...answers], asked: [], progress: [] });
    const onprogress = ({ progress, total, message }) => step.progress.push([progress, total, message ?? null]);
    const options = progress ? { ...more, onprogress } : more;
    const params = { name, arguments: given, ...(seen.revision === "2026-07-28" ? LOGS : {}) };
    const result = await (first ? client.callTool(params, undefined, options) : client.callTool(params, options));
    return { ...result, asked: step.asked, progress: step.progress };
  };
  // Tasks, which only the first generation has: the first message of a kind about the call of a tool.
  const heard = async (kind, name, given) => {
    const stream = client.experimental.tasks.callToolStream({ name, arguments: given }, undefined, { task: {} });
    let task;
    for await (const message of stream) {
      if (message.error) throw message.error;
      task ??= message.task;
      if (message.type === kind) return [task, message.result];
    }
  };
  const statusOf = async (id) => (await client.experimental.tasks.getTask(id)).status;
  return {
    call,
    task: async (name, given, answers = []) => {
      Object.assign(step, { answers: [...answers], asked: [] });
      const [task, result] = await heard("result", name, given);
      return { ...result, asked: step.asked, statuses: [task.status, await statusOf(task.taskId)] };
    },
    stop: async (name, given) => {
      const [{ taskId }] = await heard("taskCreated", name, given);
      await client.experimental.tasks.cancelTask(taskId);
      return statusOf(taskId);
    },
    status: statusOf,
    tools: () => pages("listTools", "tools"),
    resources: () => pages("listResources", "resources"),
    templates: () => pages("listResourceTemplates", "resourceTemplates"),
    prompts: () => pages("listPrompts", "prompts"),
    read: (uri) => client.readResource({ uri }),
    prompt: (name, given) => client.getPrompt({ name, arguments: given }),
    complete: async (kind, name, argument, value) => {
      const ref = { type: `ref/${kind}`, [kind === "prompt" ? "name" : "uri"]: name };
      return (await client.complete({ ref, argument: { name: argument, value } })).completion;
    },
    ping: () => client.ping(),
    level: (level) => client.setLoggingLevel(level),
    watch: async (uri, changes, tool, given) => {
      step.changes = [];
      const stateless = seen.revision === "2026-07-28";
      const stream = stateless
        ? await client.listen({ toolsListChanged: true, resourceSubscriptions: [uri] })
        : await client.subscribeResource({ uri });
      await call(tool, given);
      while (step.changes.length < changes) await new Promise((done) => setTimeout(done, 10));
      await (stateless ? stream.close() : client.unsubscribeResource({ uri }));
      return { heard: step.changes.sort() };
    },
    cancel: async (name) => {
      const control = new AbortController();
      setTimeout(() => control.abort("enough"), 300);
      const called = call(name, {}, [], false, { signal: control.signal });
      return called.then(JSON.stringify, () => "cancelled");
    },
  };
};

const visited = async ({ server, steps, oauth }) => {
  const seen = { logs: [], errors: [], results: [] };
  const step = { answers: [], asked: [], progress: [], changes: [] };
  const user = oauth ? new SignIn(oauth) : { signedIn: (_, work) => work() };
  let client, transport;
  await user.signedIn(() => transport, () => {
    client = host(seen, step);
    transport = transportTo(server, oauth && user);
    // Which revision it is, the first generation tells its transport alone.
    const { setProtocolVersion } = transport;
    transport.setProtocolVersion = (version) => {
      seen.revision = version;
      setProtocolVersion?.call(transport, version);
    };
    return client.connect(transport);
  });
  seen.revision = client.getNegotiatedProtocolVersion?.() ?? seen.revision;
  seen.server = client.getServerVersion().name;
  seen.instructions = client.getInstructions();
  const known = stepsOf(client, seen, step);
  for (const [name, ...given] of steps) {
    const failed = ({ code, message }) => ({ error: [code, message] });
    const taken = user.signedIn(() => transport, () => known[name](...given));
    seen.results.push((await taken.catch(failed)) ?? null);
  }
  // What breaks off at the end is as it should be; and closing alone leaves the session to lapse.
  client.onerror = undefined;
  await transport.terminateSession?.();
  await client.close();
  return seen;
};

for await (const line of createInterface({ input: process.stdin })) {
  const seen = await visited(JSON.parse(line)).catch((error) => ({ failed: `${error.stack}\n${error.cause ?? ""}` }));
  console.log(`SEEN ${JSON.stringify(seen)}`);
}
