import { z } from "@hono/zod-openapi";
import { problem } from "../core/problems.ts";
import type { Routes } from "../http/routes.ts";
import type { CallApi } from "./tool.ts";

const Message = z
  .object({ jsonrpc: z.literal("2.0") })
  .loose()
  .openapi("McpMessage", { description: "A message of JSON-RPC 2.0, as the protocol describes it." });

/**
 * The Model Context Protocol over HTTP (https://modelcontextprotocol.io/specification), stateless: each request has its
 * own response and no session. Tools call the API with the key of the request.
 */
export function addMcpRoutes(routes: Routes, callApi: CallApi): void {
  routes.add(
    {
      method: "post",
      path: "/mcp",
      operationId: "callMcp",
      by: "events:read",
      tag: "MCP",
      summary: "Call the MCP server",
      description:
        "The Model Context Protocol (streamable HTTP, without sessions). Its tools search and count events with the key of the request. Notifications return 202 without a body.",
      body: Message,
      response: Message,
    },
    async (call) => {
      if (call.by !== "key")
        throw problem("key-missing", { detail: "The MCP server needs an API key: sessions can't use it." });
      // Loaded on first use: most installations never need it.
      const { respond } = await import("./respond.ts");
      return respond(call.request, call.body, call, callApi);
    },
  );
}
