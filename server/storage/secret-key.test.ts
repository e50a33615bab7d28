// @engines sqlite, postgres
// @long postgres
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sql } from "kysely";
import type { Config } from "../config/config.ts";
import { migrationsDirectories } from "../process/program-files.ts";
import { type Running, serve } from "../serve.ts";
import { controlEngine, removeStorage } from "../testing/engine.ts";
import { openTestStore, preparedConfig, testPassword, testPasswords } from "../testing/test-app.ts";

import { generateSecretKey } from "./secret-box.ts";
import type { Store } from "./store.ts";

let config: Config;
let file: string;
let running: Running | null = null;

beforeEach(async () => {
  // Without the key of all tests.
  ({ config } = await preparedConfig({ secretKey: null }));
  file = join(config.dataDirectory, "secret.key");
});
afterEach(async () => {
  await stop();
  await removeStorage(config);
});

async function start(change: Partial<Config> = {}, migrations?: readonly string[]): Promise<Running> {
  running = await serve({ ...config, ...change }, { passwords: testPasswords, migrations });
  return running;
}
async function stop(): Promise<void> {
  await running?.stop();
  running = null;
}
const refusal = (change: Partial<Config> = {}, migrations?: readonly string[]) =>
  start(change, migrations).then(
    () => "started",
    ({ message }: Error) => message,
  );

async function withStore<Result>(work: (control: Store["control"]) => Promise<Result>): Promise<Result> {
  const store = await openTestStore(config);
  try {
    return await work(store.control);
  } finally {
    await store.close();
  }
}

async function signIn(): Promise<string> {
  const response = await fetch(`${running!.address}/api/auth/sign-in/email`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: running!.address },
    body: JSON.stringify({ email: "owner@example.com", password: testPassword }),
  });
  return response.headers
    .getSetCookie()
    .map((text) => text.split(";")[0])
    .join("; ");
}
const me = async (cookie: string) =>
  (await fetch(`${running!.address}/api/me`, { headers: { cookie } })).status;

const subscription = {
  endpoint: "https://push.example/1",
  keys: {
    p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    auth: "BTBZMqHH6r4Tts7J_aSIgg",
  },
};
async function addBrowser(cookie: string): Promise<number> {
  const response = await fetch(`${running!.address}/api/destinations`, {
    method: "POST",
    headers: { "content-type": "application/json", cookie, origin: running!.address },
    body: JSON.stringify({ kind: "browser", label: "Chromium", subscription }),
  });
  return response.status;
}

test("the first start creates a key that only the owner can read, and later starts use it", async () => {
  await start();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, "utf8")).toMatch(/^[\w-]{43}\n$/);
  const cookie = await signIn();
  await stop();
  await start();
  expect(await me(cookie)).toBe(200);
});

test("TIDINGS_SECRET_KEY replaces the file", async () => {
  const secretKey = generateSecretKey();
  await start({ secretKey });
  expect(existsSync(file)).toBe(false);
  const cookie = await signIn();
  await stop();
  // The same key, now as a file.
  writeFileSync(file, secretKey);
  await start();
  expect(await me(cookie)).toBe(200);
});

test("no secret is stored in clear", async () => {
  await start();
  expect(await addBrowser(await signIn())).toBe(201);
  await stop();
  const rows = await withStore(async (control) => ({
    settings: await control.selectFrom("settings").selectAll().execute(),
    destinations: await control.selectFrom("destinations").selectAll().execute(),
  }));
  const settings = new Map(rows.settings.map(({ name, value }) => [name, value]));
  for (const name of ["authSecret", "vapid"]) expect(settings.get(name)).toMatch(/^v1\.[\w-]{8}\./);
  expect(JSON.stringify(rows)).not.toContain(subscription.keys.auth);
});

test("what an earlier version stored in clear is encrypted, and still works", async () => {
  await start();
  const cookie = await signIn();
  await addBrowser(cookie);
  await stop();
  // As earlier versions stored it.
  const authSecret = "a secret in clear";
  await withStore(async (control) => {
    await sql`DELETE FROM settings WHERE name IN ('secretKeyCheck', 'vapid')`.execute(control);
    await sql`UPDATE settings SET value = ${authSecret} WHERE name = 'authSecret'`.execute(control);
    await sql`UPDATE destinations SET settings = ${JSON.stringify(subscription.keys)} WHERE kind = 'browser'`.execute(
      control,
    );
  });
  await start();
  const newCookie = await signIn();
  // The same browser again: its stored keys could be read.
  expect(await addBrowser(newCookie)).toBe(201);
  await stop();
  const stored = await withStore((control) => control.selectFrom("settings").select("value").execute());
  expect(JSON.stringify(stored)).not.toContain(authSecret);
});

describe("a server does not start", () => {
  test("with another key than the database's", async () => {
    await start();
    await stop();
    expect(await refusal({ secretKey: generateSecretKey() })).toContain(
      "encrypted with another key than TIDINGS_SECRET_KEY. Set TIDINGS_SECRET_KEY to the key",
    );
    writeFileSync(file, generateSecretKey());
    expect(await refusal()).toContain(`encrypted with another key than ${file}.`);
  });

  test("without the key of a database that has secrets; it creates no other one", async () => {
    await start();
    await stop();
    rmSync(file);
    expect(await refusal()).toContain(`${file} is missing, and the database has secrets.`);
    expect(existsSync(file)).toBe(false);
  });

  test("without its key, and leaves the database at its version", async () => {
    await start();
    await stop();
    const key = readFileSync(file);
    const later = mkdtempSync(join(tmpdir(), "tidings-migrations-"));
    const directories = [...migrationsDirectories(controlEngine), later];
    writeFileSync(join(later, "9999-later.sql"), "CREATE TABLE later (id integer)");
    rmSync(file);
    expect(await refusal({}, directories)).toContain(`${file} is missing, and the database has secrets.`);
    expect(readdirSync(config.dataDirectory).filter((name) => name.includes(".before-"))).toEqual([]);
    writeFileSync(file, key);
    // This version would refuse an upgraded database.
    expect(await refusal()).toBe("started");
    await stop();
    expect(await refusal({}, directories)).toBe("started");
    rmSync(later, { recursive: true });
  });

  test("with a damaged file", async () => {
    writeFileSync(file, "damaged");
    expect(await refusal()).toContain("must be 32 bytes in base64");
  });
});

test("after a lost key, the statements in docs/secrets.md let people sign in again", async () => {
  await start();
  await addBrowser(await signIn());
  await stop();
  rmSync(file);
  const page = readFileSync(join(import.meta.dir, "../../docs/secrets.md"), "utf8");
  const statements = /```sql\n([^`]+)```/
    .exec(page)![1]!
    .split(";")
    .filter((text) => text.trim() !== "");
  expect(statements.length).toBeGreaterThan(2);
  await withStore(async (control) => {
    for (const statement of statements) await sql.raw(statement).execute(control);
  });
  await start();
  const cookie = await signIn();
  expect([await me(cookie), await addBrowser(cookie)]).toEqual([200, 201]);
});

test.if(controlEngine === "postgres")("a second node needs the key of the first one", async () => {
  const first = await serve({ ...config, secretKey: generateSecretKey() }, { passwords: testPasswords });
  try {
    // Its own data directory has no key.
    expect(await refusal()).toContain("is missing, and the database has secrets. Set TIDINGS_SECRET_KEY");
  } finally {
    await first.stop();
  }
});
