import type { z } from "@hono/zod-openapi";
import type { PermissionName } from "../core/permissions.ts";
import { pathSegment } from "../schemas/path-segment.ts";

/** Handles a request to the API in this process. */
export type CallApi = (request: Request) => Promise<Response>;

/** Calls a path of the API, with POST if there is a body. Throws `ApiError` for a problem. */
export type Api = (path: string, body?: unknown) => Promise<Record<string, unknown>>;

/** A problem of the API, as a text for the model. */
export class ApiError extends Error {}

export type Values = Record<string, unknown>;

export type Tool = {
  name: string;
  title: string;
  description: string;
  /** What the API key needs for it. */
  permission: PermissionName;
  isReadOnly: boolean;
  input: z.ZodObject;
  output: z.ZodObject;
  run: (api: Api, values: Values) => Promise<Record<string, unknown>>;
};

/** Characters of a text in a list. */
const listedTextMax = 300;

/** A text of a list, cut if it is long. */
export function shortened(text: string): string {
  return text.length <= listedTextMax ? text : `${text.slice(0, listedTextMax)}…`;
}

/** A parameter as a segment of a path. Throws `ApiError` for an empty one: the request would be for another path. */
export function segmentOf(value: unknown): string {
  const text = String(value).toWellFormed();
  if (text === "") throw new ApiError('There is nothing named "".');
  return pathSegment(text);
}

export function withQuery(path: string, values: Values): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (Array.isArray(value)) for (const each of value) query.append(name, String(each));
    else if (value !== undefined) query.append(name, String(value));
  }
  return `${path}?${query}`;
}
