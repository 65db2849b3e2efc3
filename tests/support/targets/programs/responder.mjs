// Answers for test vectors by the tables: types by name, messages by the envelope and their method.

const RENAMED = { Annotated: "AnnotatedObject" };
let mcp;

function typeErrors(type, value) {
  const read = mcp.parse(type, value);
  return read.ok ? [] : read.errors;
}

function messageErrors({ method, kind, sender, value }) {
  const spec = mcp.METHODS[method];
  const envelopes = {
    request: "JSONRPCRequest",
    notification: "JSONRPCNotification",
    result: "JSONRPCResultResponse" in mcp.TYPES ? "JSONRPCResultResponse" : "JSONRPCResponse",
  };
  const envelope = typeErrors(envelopes[kind], value);
  if (kind !== "result") {
    return spec?.senders.includes(sender) ? [...envelope, ...typeErrors(spec.message, value)] : null;
  }
  const other = sender === "client" ? "server" : "client";
  if (!spec?.senders.includes(other)) return null;
  if (envelope.length > 0) return envelope;
  const found = spec.results.map((type) => typeErrors(type, value.result));
  return found.some((errors) => errors.length === 0) ? [] : found[0];
}

function answer(asked) {
  const type = RENAMED[asked.type] ?? asked.type;
  const known = type === undefined || type in mcp.TYPES;
  const errors = !known ? null : type ? typeErrors(type, asked.value) : messageErrors(asked);
  if (errors === null) return { verdict: "unknown" };
  if (errors.length === 0) return { verdict: "accepted", value: asked.value };
  return { verdict: "refused", error: `${errors[0].pointer} ${errors[0].message}` };
}

// Node's own reader of lines also ends them inside of texts, at U+2028.
let rest = "";
for await (const part of process.stdin.setEncoding("utf8")) {
  const lines = (rest + part).split("\n");
  rest = lines.pop();
  for (const line of lines) {
    const { id, ...asked } = JSON.parse(line);
    const first = "responder" in asked;
    if (first) mcp = await import(`./v${asked.revision.replaceAll("-", "_")}.js`);
    const reply = first ? { responder: 1, name: "typescript" } : { id, ...answer(asked) };
    process.stdout.write(JSON.stringify(reply) + "\n");
  }
}
