import {
  type IExecuteSingleFunctions,
  type IN8nHttpFullResponse,
  type INode,
  type INodeExecutionData,
  type JsonObject,
  NodeApiError,
} from "n8n-workflow";

/** Throws what Tidings says of a request that it refused (RFC 9457). By itself, n8n shows only what a status means. */
export function throwIfRefused(node: { getNode(): INode }, { statusCode, body }: IN8nHttpFullResponse): void {
  if (statusCode < 400) return;
  const { title, detail } = (body ?? {}) as { title?: string; detail?: string };
  throw new NodeApiError(node.getNode(), body as JsonObject, {
    message: detail ?? `The server responded with status ${statusCode}, without a reason`,
    description: title,
    httpCode: String(statusCode),
  });
}

/** The same as a step after the request of a declarative node. */
export async function checkResponse(
  this: IExecuteSingleFunctions,
  items: INodeExecutionData[],
  response: IN8nHttpFullResponse,
): Promise<INodeExecutionData[]> {
  throwIfRefused(this, response);
  return items;
}
