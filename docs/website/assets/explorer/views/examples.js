/** Messages as examples. */

export const EXAMPLES = [
  {
    title: "initialize",
    message: {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: {
        protocolVersion: "2025-11-25",
        capabilities: { elicitation: {} },
        clientInfo: { name: "example", version: "1.0" },
      },
    },
  },
  {
    title: "tools/call, stateless",
    message: {
      jsonrpc: "2.0",
      id: 2,
      method: "tools/call",
      params: {
        name: "weather",
        arguments: { place: "Oslo" },
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    },
  },
  {
    title: "a result with a fault",
    message: {
      jsonrpc: "2.0",
      id: 2,
      result: { content: [{ type: "text", txt: "12 °C" }], isError: "no" },
    },
  },
  {
    title: "a batch",
    message: [
      { jsonrpc: "2.0", id: 3, method: "ping" },
      { jsonrpc: "2.0", method: "notifications/initialized" },
    ],
  },
  {
    title: "a task of the extension",
    message: {
      jsonrpc: "2.0",
      id: 4,
      method: "tasks/get",
      params: {
        taskId: "t-1",
        _meta: {
          "io.modelcontextprotocol/protocolVersion": "2026-07-28",
          "io.modelcontextprotocol/clientCapabilities": {},
        },
      },
    },
  },
];
