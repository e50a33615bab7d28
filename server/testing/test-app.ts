import { createAccount, hashPassword } from "../accounts/create-account.ts";
import { type Config, readConfig } from "../config.ts";
import { createKey } from "../keys/keys.ts";
import { type Running, serve } from "../main.ts";
import { createProject } from "../projects/projects.ts";
import { openStore } from "../storage/open.ts";
import type { Store } from "../storage/store.ts";
import type { Event } from "../wire/event.ts";
import { makePlace, removePlace, testWatch } from "./engine.ts";

export const testPassword = "correct horse battery";

/** Settings of a server for a test: a free port, a place of its own, a quiet log. `removePlace` clears it away. */
export async function testConfig(change: Partial<Config> = {}): Promise<Config> {
  const place = change.dataDirectory === undefined ? await makePlace() : {};
  return {
    ...readConfig({
      PORT: "0",
      HOST: "127.0.0.1",
      TIDINGS_LOG: "error",
      TIDINGS_ALLOW_PRIVATE_ADDRESSES: "true",
    }),
    ...place,
    ...change,
  };
}

/** Opens the store of a server beside it, as another process would. */
export function openTestStore(config: Config): Promise<Store> {
  return openStore(config, testWatch);
}

export type TestApp = Awaited<ReturnType<typeof testApp>>;

/**
 * Starts the real server on a fresh database, with an owner (`owner@example.com`), the project "default" and a key.
 *
 * @example
 * await using app = await testApp();
 * const response = await app.post({ channel: "payments", name: "Payment received" });
 */
export async function testApp(change: Partial<Config> = {}) {
  const config = await testConfig(change);
  const owner = "owner@example.com";
  const first = await prepare(config, owner);
  let running: Running = await serve(config);

  const request = (
    path: string,
    init: RequestInit = {},
    key: string | null = first.secret,
  ): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (key !== null && !headers.has("x-api-key") && !headers.has("cookie")) headers.set("x-api-key", key);
    return fetch(running.address + path, { ...init, headers });
  };

  return {
    config,
    owner,
    /** The first project's key. */
    key: first.secret,
    get address() {
      return running.address;
    },
    get running() {
      return running;
    },
    /** A request with the first project's key, unless it carries another or a cookie. */
    request,
    /** Records an event. */
    post: (event: unknown, key?: string): Promise<Response> =>
      request(
        "/api/events",
        { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(event) },
        key,
      ),
    /** The events that a listing gives. */
    async list(query = "", key?: string): Promise<Event[]> {
      const response = await request(`/api/events${query}`, {}, key);
      if (response.status !== 200)
        throw new Error(`The listing answered ${response.status}: ${await response.text()}`);
      return ((await response.json()) as { events: Event[] }).events;
    },
    /** Signs in, and gives the cookie to send. */
    async signIn(email = owner, password = testPassword): Promise<string> {
      const response = await fetch(`${running.address}/api/auth/sign-in/email`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: running.address },
        body: JSON.stringify({ email, password }),
      });
      if (!response.ok) throw new Error(`Signing in answered ${response.status}: ${await response.text()}`);
      return response.headers
        .getSetCookie()
        .map((cookie) => cookie.split(";")[0])
        .join("; ");
    },
    /** Makes another project with a member of its own and a key, beside the running server, as a command would. */
    async another(name: string, email: string): Promise<{ slug: string; secret: string }> {
      const store = await openTestStore(config);
      try {
        const passwordHash = await hashPassword(testPassword);
        const { id, project } = await store.control.transaction().execute(async (transaction) => {
          const made = await createProject(transaction, name, null);
          await createAccount(transaction, { email, password: testPassword }, passwordHash, made);
          return made;
        });
        const { secret } = await createKey(store.control, id, "test");
        return { slug: project.slug, secret };
      } finally {
        await store.close();
      }
    },
    /** Stops the server and starts it again on the same data. */
    async restart(): Promise<void> {
      await running.stop();
      running = await serve(config);
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await running.stop();
      await removePlace(config);
    },
  };
}

/** Fills an empty place with an owner, the project "default" and a key. */
export async function prepare(config: Config, email: string): Promise<{ secret: string }> {
  const store = await openTestStore(config);
  try {
    const passwordHash = await hashPassword(testPassword);
    const { firstProject } = await store.control
      .transaction()
      .execute((transaction) =>
        createAccount(transaction, { email, password: testPassword }, passwordHash, null),
      );
    return await createKey(store.control, firstProject!.id, "test");
  } finally {
    await store.close();
  }
}
