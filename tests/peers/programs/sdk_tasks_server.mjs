// Tools of the official TypeScript SDK, generation 1, that are tasks, on standard input and output.
// The argument is the folder of the installed packages.

import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [folder] = process.argv.slice(2);
const load = (path) => import(pathToFileURL(join(folder, "@modelcontextprotocol", "sdk", "dist", "esm", path)));
const types = await load("types.js");
const { Server } = await load("server/index.js");
const { StdioServerTransport } = await load("server/stdio.js");
const { InMemoryTaskStore, InMemoryTaskMessageQueue } = await load("experimental/tasks/stores/in-memory.js");

const TOOLS = {
  greet: "forbidden",
  slow_compute: "optional",
  failing_job: "required",
  confirm_delete: "required",
  ask_as_task: "optional",
  sample_as_task: "optional",
};
const form = (name, type) => ({ type: "object", properties: { [name]: { type } } });
const said = (text, isError) => ({ content: [{ type: "text", text }], isError });

const server = new Server(
  { name: "tasks", version: "1" },
  {
    capabilities: { tools: {}, tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } },
    taskStore: new InMemoryTaskStore(),
    taskMessageQueue: new InMemoryTaskMessageQueue(),
  },
);

// The answer of a client to what it works on as a task.
const answered = async (stream) => {
  for await (const { result, error } of stream) {
    if (error) throw error;
    if (result) return result;
  }
};

const working = {
  greet: ({ name }) => said(`Hello, ${name}!`),
  slow_compute: async ({ seconds, label }) => {
    await new Promise((done) => setTimeout(done, seconds * 1000).unref());
    return said(`computed ${label} in ${seconds} s`);
  },
  failing_job: () => said("This job always fails", true),
  confirm_delete: async ({ filename }, { sendRequest }, taskId) => {
    const params = { mode: "form", message: `Delete ${filename}?`, requestedSchema: form("confirm", "boolean") };
    const request = { method: "elicitation/create", params };
    const { content } = await sendRequest(request, types.ElicitResultSchema, { relatedTask: { taskId } });
    return said(`${content.confirm ? "Deleted" : "Kept"} ${filename}`);
  },
  ask_as_task: async () => {
    const params = { mode: "form", message: "Your name?", requestedSchema: form("name", "string") };
    const stream = server.experimental.tasks.elicitInputStream(params, { task: { ttl: 60000 } });
    const { action, content } = await answered(stream);
    return said(`${action} ${content.name}`);
  },
  sample_as_task: async () => {
    const messages = [{ role: "user", content: { type: "text", text: "?" } }];
    const params = { messages, maxTokens: 10 };
    const stream = server.experimental.tasks.createMessageStream(params, { task: { ttl: 60000 } });
    const { model, content } = await answered(stream);
    return said(`${model} ${content.text}`);
  },
};

server.setRequestHandler(types.ListToolsRequestSchema, () => ({
  tools: Object.entries(TOOLS).map(([name, taskSupport]) => ({
    name,
    inputSchema: { type: "object" },
    execution: { taskSupport },
  })),
}));

server.setRequestHandler(types.CallToolRequestSchema, async ({ params }, extra) => {
  const { name, arguments: given, task: wanted } = params;
  if (!wanted) return working[name](given, extra);
  const task = await extra.taskStore.createTask({ ttl: wanted.ttl ?? null, pollInterval: 50 });
  const { taskId } = task;
  const finished = async (result) => {
    const status = result.isError ? "failed" : "completed";
    await extra.taskStore.storeTaskResult(taskId, status, result);
  };
  // What is cancelled meanwhile takes no result.
  void Promise.resolve(working[name](given, extra, taskId)).then(finished).catch(() => {});
  return { task };
});

// Timers of tasks would keep it running.
process.stdin.on("end", () => process.exit());
await server.connect(new StdioServerTransport());
