import type { Logger } from "pino";
import { commandActor } from "../audit/audit-log.ts";
import { createAccount } from "../auth/create-account.ts";
import { type PasswordHashing, scrypt } from "../auth/passwords.ts";
import { type Config, readConfig } from "../config/config.ts";
import type { Role } from "../core/permissions.ts";
import type { Event } from "../event/event.ts";
import { createProject, findProject } from "../projects/projects.ts";
import type { NewKey } from "../schemas/key.ts";
import { type Running, serve } from "../serve.ts";
import type { Store } from "../storage/store.ts";
import {
  makeFilledStorage,
  makeStorage,
  openShippingStore,
  removeStorage,
  type TestStorage,
  testSecretKey,
  testWatch,
} from "./engine.ts";
import { createTestKey } from "./test-key.ts";

export const testPassword = "correct horse battery";
const owner = "owner@example.com";

/** The settings of a test server: a free port, its own storage, a quiet log. `removeStorage` deletes the storage. */
export async function testConfig(change: Partial<Config> = {}): Promise<Config> {
  return configAt(change.dataDirectory === undefined ? await makeStorage() : {}, change);
}

/** @param variables - of the environment */
export function configAt(
  storage: Partial<TestStorage>,
  change: Partial<Config>,
  variables: Record<string, string> = {},
): Config {
  return {
    ...readConfig({
      PORT: "0",
      HOST: "127.0.0.1",
      TIDINGS_LOG: "error",
      TIDINGS_ALLOW_PRIVATE_ADDRESSES: "true",
      TIDINGS_SECRET_KEY: testSecretKey,
      ...variables,
    }),
    ...storage,
    ...change,
  };
}

/** Attempts to open a store whose database is locked. */
const openTries = 5;

/**
 * Opens a running server's store a second time, as another process would. Unlike another process, opening it stops the
 * server while it waits for the server's own transaction, so that the wait can end in vain.
 */
export async function openTestStore(config: Config): Promise<Store> {
  for (let tries = 1; ; tries++) {
    try {
      return await openShippingStore(config, testWatch);
    } catch (error) {
      if ((error as { code?: string }).code !== "SQLITE_BUSY" || tries === openTries) throw error;
      await Bun.sleep(50);
    }
  }
}

export type TestApp = Awaited<ReturnType<typeof testApp>>;

/**
 * Starts the real server on a fresh database, with an owner (`owner@example.com`), the project "default" and a key.
 *
 * @example
 * await using app = await testApp();
 * const response = await app.post({ channel: "payments", name: "Payment received" });
 */
export async function testApp(change: Partial<Config> = {}, now: () => number = Date.now, log?: Logger) {
  const { config, secret: key } = await preparedConfig(change);
  const serveTest = () =>
    serve(config, { passwords: testPasswords, now, openStore: openShippingStore, ...(log && { log }) });
  let running: Running = await serveTest();

  const request = (
    path: string,
    init: RequestInit = {},
    requestKey: string | null = key,
  ): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (requestKey !== null && !headers.has("x-api-key") && !headers.has("cookie"))
      headers.set("x-api-key", requestKey);
    return fetch(running.address + path, { ...init, headers });
  };

  return {
    config,
    owner,
    /** The first project's key. */
    key,
    get address() {
      return running.address;
    },
    get running() {
      return running;
    },
    /** Sends a request with the first project's key, unless it has another key or a cookie. */
    request,
    /** Records an event. */
    post: (event: unknown, key?: string): Promise<Response> =>
      request(
        "/api/events",
        { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(event) },
        key,
      ),
    /** Lists events. */
    async list(query = "", key?: string): Promise<Event[]> {
      const response = await request(`/api/events${query}`, {}, key);
      if (response.status !== 200)
        throw new Error(`The listing answered ${response.status}: ${await response.text()}`);
      return ((await response.json()) as { events: Event[] }).events;
    },
    /** Signs in and returns the cookie to send. */
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
    /** Creates another project with its own owner and a key. */
    async another(name: string, email: string): Promise<{ slug: string; secret: string }> {
      const { control } = running.store;
      const passwordHash = await testPasswords.hash(testPassword);
      const { id, project } = await control.transaction().execute(async (transaction) => {
        const account = await createAccount(
          transaction,
          { email, password: testPassword },
          passwordHash,
          null,
          commandActor,
        );
        return createProject(transaction, name, account.id);
      });
      const secret = await createTestKey(control, id, testKey);
      return { slug: project.slug, secret };
    },
    /** Creates an account that is a member of a project. */
    async addMember(email: string, role: Role, slug = "default"): Promise<void> {
      const { control } = running.store;
      const passwordHash = await testPasswords.hash(testPassword);
      await control.transaction().execute(async (transaction) => {
        const project = await findProject(transaction, slug);
        const account = { email, password: testPassword };
        await createAccount(transaction, account, passwordHash, { id: project.id, role }, commandActor);
      });
    },
    /** Restarts the server on the same data. */
    async restart(): Promise<void> {
      await running.stop();
      running = await serveTest();
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await running.stop();
      await removeStorage(config);
    },
  };
}

const testKey: NewKey = { name: "test", scopes: ["ingest", "read", "manage"] };

/** Creates the owner, the project "default" and a key in empty storage. */
export async function prepare(storage: TestStorage): Promise<{ secret: string }> {
  const store = await openTestStore(configAt(storage, {}));
  try {
    const passwordHash = await testPasswords.hash(testPassword);
    const { firstProject } = await store.control
      .transaction()
      .execute((transaction) =>
        createAccount(
          transaction,
          { email: owner, password: testPassword },
          passwordHash,
          null,
          commandActor,
        ),
      );
    return { secret: await createTestKey(store.control, firstProject!.id, testKey) };
  } finally {
    await store.close();
  }
}

let preparedSecret: string;
async function prepareTemplate(storage: TestStorage): Promise<void> {
  preparedSecret = (await prepare(storage)).secret;
}

/** Like {@link testConfig}, on storage that was prepared by {@link prepare}. */
export async function preparedConfig(
  change: Partial<Config> = {},
): Promise<{ config: Config; secret: string }> {
  if (change.dataDirectory !== undefined) {
    const config = configAt({}, change);
    return { config, ...(await prepare(config)) };
  }
  const storage = await makeFilledStorage(prepareTemplate);
  return { config: configAt(storage, change), secret: preparedSecret };
}

const hashes = new Map<string, Promise<string>>();
const verifications = new Map<string, Promise<boolean>>();

/** scrypt with a cache: it takes a tenth of a second each time, and most tests use the same password. */
export const testPasswords: PasswordHashing = {
  hash: (password) => cached(hashes, password, () => scrypt.hash(password)),
  verify: (stored) => cached(verifications, JSON.stringify(stored), () => scrypt.verify(stored)),
};

function cached<Value>(
  cache: Map<string, Promise<Value>>,
  key: string,
  compute: () => Promise<Value>,
): Promise<Value> {
  const value = cache.get(key) ?? compute();
  cache.set(key, value);
  return value;
}
