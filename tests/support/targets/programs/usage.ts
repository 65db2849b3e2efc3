// What a program may do with the modules, and, in lines that say so, what it must not.
import * as mcp from "./v2025_11_25.js";
import * as newest from "./v2026_07_28.js";

declare function send(method: string, params: unknown): Promise<unknown>;

export async function request<Name extends keyof mcp.ClientRequests>(
  method: Name,
  params: mcp.ParamsOf<Name>,
): Promise<mcp.ResultOf<Name>> {
  const result = await send(method, params);
  for (const type of mcp.METHODS[method].results) {
    const read = mcp.parse(type, result);
    if (read.ok) return read.value as mcp.ResultOf<Name>;
  }
  throw new Error("no result of the method");
}

export function textOf(block: mcp.ContentBlock): string {
  switch (block.type) {
    case "text":
      return block.text;
    case "resource":
      return "text" in block.resource ? block.resource.text : block.resource.blob;
    case "image":
    case "audio":
      return block.mimeType;
    case "resource_link":
      return block.uri;
  }
}

export async function use(value: unknown): Promise<void> {
  const tools: mcp.ListToolsResult = await request("tools/list", {});
  const first: mcp.Tool | undefined = tools.tools[0];
  const result = await request("tools/call", { name: first?.name ?? "", arguments: { x: [null] } });
  if (mcp.is("CallToolResult", result)) result.content.map(textOf);
  const read = mcp.parse("Tool", value);
  if (read.ok) read.value.inputSchema["type"];
  else read.errors.map(({ pointer, message }) => pointer + message);

  // @ts-expect-error: an optional member may be absent, but undefined is no JSON
  await request("tools/list", { cursor: undefined });
  // @ts-expect-error: a client cannot send the requests of a server
  await request("sampling/createMessage", { messages: [], maxTokens: 1 });
  // @ts-expect-error: a required member is not there
  await request("tools/call", { arguments: {} });
  // @ts-expect-error: a member is undeclared
  await request("tools/call", { name: "x", nmae: "x" });
  // @ts-expect-error: there is no such method
  await request("tools/calls", { name: "x" });
  // @ts-expect-error: the result of another method
  const wrong: mcp.ListToolsResult = await request("prompts/list", {});
  // @ts-expect-error: it may be a task
  const certain: mcp.CallToolResult = await request("tools/call", { name: "x" });
  // @ts-expect-error: there is no such type
  mcp.parse("Tol", value);
  // @ts-expect-error: the outcome has not been looked at
  read.value.name;
  // @ts-expect-error: text content has no data
  textOf({ type: "text", data: "" });
  // @ts-expect-error: a list may have no first item
  tools.tools[0].name;
  void [wrong, certain];
}

// What the specification leaves open, such as results and metadata, may have other members.
export const open: mcp.Result = { _meta: { "com.example/x": 1 }, other: [true] };
export const meta: mcp.CallToolRequestParams = {
  name: "x",
  _meta: { progressToken: 1, "com.example/x": 1 },
};

// Tables keep their constants.
export const role: "client" = mcp.METHODS["tools/call"].senders[0];
export const code: -32602 = mcp.ERRORS.INVALID_PARAMS.code;
export const key: "progressToken" = mcp.META_KEYS.PROGRESS_TOKEN.key;
export const era: "stateless" = newest.ERA;
export const needed: "SERVER_TOOLS" = mcp.REQUIREMENTS["tools/call"][0].capability;
export const path: readonly ["tools"] = mcp.CAPABILITIES[needed].path;
// @ts-expect-error: a later revision does not have the method
export const gone: newest.Methods["ping"] = { params: {} };
export const asked: newest.EmbeddedRequests["roots/list"]["result"] = { roots: [] };
export const nothing: mcp.ResultOf<"notifications/progress">[] = [];
// @ts-expect-error: a notification has no result
export const something: mcp.ResultOf<"notifications/progress"> = {};
