import type { NewKey } from "../schemas/key.ts";
import type { TestApp } from "./test-app.ts";
import { createTestKey } from "./test-key.ts";

/** The browser of a visitor, as requests tell it. */
export type TestVisitor = { address: string; userAgent: string };

export const desktop =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Safari/537.36";
export const phone =
  "Mozilla/5.0 (iPhone; CPU iPhone OS 19_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/19.1 Mobile/15E148 Safari/604.1";
export const bot = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

/** Addresses of visitors are believed if tests send them as a proxy does. */
export const behindProxy = { trustedProxies: ["127.0.0.1/32"] };

export type PageEventFields = { name?: string; path?: string } & Record<string, unknown>;

/** Creates a publishable key of a project, the first one by default. */
export async function websiteKey(
  app: TestApp,
  slug = "default",
  settings: Partial<NewKey> = {},
): Promise<string> {
  const { control } = app.running.store;
  const { id } = await control
    .selectFrom("projects")
    .select("id")
    .where("slug", "=", slug)
    .executeTakeFirstOrThrow();
  return createTestKey(control, id, { name: "Shop", kind: "publishable", ...settings });
}

/** An event as the script sends it. */
export function pageEvent({ name = "Page view", path = "/", ...rest }: PageEventFields = {}) {
  return { id: Bun.randomUUIDv7(), name, url: `https://shop.example.com${path}`, ...rest };
}

/** Sends events as the script does. */
export function sendPageEvents(
  app: { address: string },
  key: string,
  events: object[],
  {
    address = "203.0.113.7",
    userAgent = desktop,
    headers = {},
    path = "/t",
    ...body
  }: Partial<TestVisitor> & { headers?: Record<string, string>; path?: string } & Record<
      string,
      unknown
    > = {},
): Promise<Response> {
  return fetch(app.address + path, {
    method: "POST",
    headers: {
      "content-type": "text/plain;charset=UTF-8",
      "user-agent": userAgent,
      "x-forwarded-for": address,
      ...headers,
    },
    body: JSON.stringify({ key, language: "de-DE", timeZone: "Europe/Berlin", ...body, events }),
  });
}
