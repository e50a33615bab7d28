import type { Event } from "../event/event.ts";
import { type Running, type ServeOptions, serve } from "../serve.ts";
import type { TestStorage } from "./engine.ts";
import { configAt, prepare, testPassword, testPasswords } from "./test-app.ts";

const hourMs = 3_600_000;

export type ClickHouseApp = Awaited<ReturnType<typeof clickHouseApp>>;

/**
 * Starts the real server on PostgreSQL with ClickHouse behind it, with an owner, a project and a key. Events move to
 * ClickHouse when the test says so. The storage stays when it ends.
 *
 * @param known - the key of storage that it was started on before
 * @param openStore - opens the storage with other options
 */
export async function clickHouseApp(
  storage: TestStorage,
  variables: Record<string, string> = {},
  known?: string,
  openStore?: ServeOptions["openStore"],
) {
  const { dataDirectory, databaseUrl } = storage;
  const key = known ?? (await prepare({ dataDirectory, databaseUrl })).secret;
  const start = () =>
    serve(configAt(storage, {}, variables), { passwords: testPasswords, now: Date.now, openStore });
  let running: Running = await start();

  /** Sends a request with the project's key, unless it has a cookie or another authorization. */
  function request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = new Headers(init.headers);
    if (!headers.has("cookie") && !headers.has("authorization")) headers.set("x-api-key", key);
    return fetch(running.address + path, { ...init, headers });
  }

  return {
    key,
    request,
    get address() {
      return running.address;
    },
    get store() {
      return running.store;
    },
    post: (event: unknown): Promise<Response> =>
      request("/api/events", {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(event),
      }),
    async list(query = ""): Promise<Event[]> {
      const response = await request(`/api/events${query}`);
      if (response.status !== 200)
        throw new Error(`The listing answered ${response.status}: ${await response.text()}`);
      return ((await response.json()) as { events: Event[] }).events;
    },
    /** Signs the owner in and returns the cookie to send. */
    async signIn(): Promise<string> {
      const response = await fetch(`${running.address}/api/auth/sign-in/email`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: running.address },
        body: JSON.stringify({ email: "owner@example.com", password: testPassword }),
      });
      if (!response.ok) throw new Error(`Signing in answered ${response.status}: ${await response.text()}`);
      return response.headers
        .getSetCookie()
        .map((cookie) => cookie.split(";")[0])
        .join("; ");
    },
    /** Moves events as if an hour had passed. They stay in PostgreSQL, too. */
    move: () => running.store.events.indexBlocks(async () => {}, Date.now() + 2 * hourMs),
    /** The same, and deletes them in PostgreSQL. */
    async moveAll(): Promise<void> {
      for (const hours of [2, 4, 6])
        await running.store.events.indexBlocks(async () => {}, Date.now() + hours * hourMs);
    },
    async restart(): Promise<void> {
      await running.stop();
      running = await start();
    },
    [Symbol.asyncDispose]: () => running.stop(),
  };
}
