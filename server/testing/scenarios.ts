import { expect, test } from "bun:test";
import type { TestApp } from "./test-app.ts";

/** A request and its expected response, as a row of a table. */
export type Scenario = {
  name: string;
  method?: string;
  path?: string;
  headers?: Record<string, string>;
  /** Strings and bytes are sent unchanged, everything else as JSON. */
  body?: unknown;
  /** The key to send; null for none. */
  key?: string | null;
  status: number;
  /** What the response's body must match, as by `toMatchObject`. */
  holds?: object;
  /** Texts that the response's body must contain. */
  says?: string[];
};

/** Defines a test for each scenario. All run against the server that `app` returns. */
export function scenarios(app: () => TestApp, table: Scenario[]): void {
  for (const scenario of table) {
    test(scenario.name, async () => {
      const response = await send(app(), scenario);
      const text = await response.text();
      expect(`${response.status} ${text}`).toStartWith(`${scenario.status} `);
      if (scenario.status >= 400) expectProblem(response, text);
      if (scenario.holds) expect(JSON.parse(text)).toMatchObject(scenario.holds);
      for (const phrase of scenario.says ?? []) expect(text).toContain(phrase);
    });
  }
}

export function send(app: TestApp, { method, path, headers, body, key }: Omit<Scenario, "name" | "status">) {
  const isRaw = typeof body === "string" || body instanceof Uint8Array || body instanceof ReadableStream;
  return app.request(
    path ?? "/api/events",
    {
      method: method ?? (body === undefined ? "GET" : "POST"),
      headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
      ...(body !== undefined && { body: isRaw ? (body as string) : JSON.stringify(body) }),
    },
    key,
  );
}

/** Every error response is a problem (RFC 9457). */
function expectProblem(response: Response, text: string): void {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const problem = JSON.parse(text);
  expect(problem).toMatchObject({ ok: false, status: response.status });
  expect(problem.type).toStartWith("/problems/");
  expect(problem.detail).toMatch(/[.?)]$/);
  if (response.status === 401) expect(response.headers.get("www-authenticate")).toContain("Bearer");
}
