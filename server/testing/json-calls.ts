import { expect } from "bun:test";
import type { TestApp } from "./test-app.ts";

/**
 * Returns a function that sends JSON with these headers, such as a session's cookie, fails if the response has another
 * status than expected, and returns its body.
 */
export function jsonCalls<Default = unknown>(app: () => TestApp, headersOf: () => Record<string, string>) {
  return async function call<Body = Default>(
    method: string,
    path: string,
    body?: unknown,
    status = 200,
    headers = headersOf(),
  ): Promise<Body> {
    const init = {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    };
    const response = await app().request(path, init, null);
    const text = await response.text();
    expect(`${response.status} ${text}`).toStartWith(`${status} `);
    return JSON.parse(text) as Body;
  };
}
