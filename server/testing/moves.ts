import { expect } from "bun:test";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { fillInstallation } from "./installation.ts";
import { type TestDatabase, testDatabase } from "./postgres.ts";
import { runTidings } from "./server-process.ts";
import { testApp } from "./test-app.ts";

const directories: string[] = [];
const databases: TestDatabase[] = [];

/** Removes all directories and databases created here. */
export async function clearMoves(): Promise<void> {
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
  for (const database of databases.splice(0)) await database.drop();
}

/** Creates a data directory with data of every kind and many events. Returns it with a key and the owner's session. */
export async function fill(events: number) {
  const directory = newDirectory();
  const app = await testApp({ dataDirectory: directory, databaseUrl: null });
  await fillInstallation(app, events);
  const cookie = await app.signIn();
  await app.running.stop();
  return { directory, key: app.key, cookie };
}

export function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "tidings-move-"));
  directories.push(directory);
  return directory;
}

export async function newDatabase(): Promise<string> {
  const database = await testDatabase();
  databases.push(database);
  return database.url;
}

/** Runs `migrate-to`, and expects its output not to contain the password. */
export async function migrateTo(url: string, directory: string) {
  const result = await runTidings(["migrate-to", url], { TIDINGS_DATA: directory });
  for (const text of [result.stdout, result.stderr]) expect(text).not.toContain(passwordOf(url) || "://");
  return result;
}

/** Runs `migrate-to`, and expects both databases to agree. */
export async function expectMoved(url: string, directory: string): Promise<void> {
  const { code, stdout, stderr } = await migrateTo(url, directory);
  expect(`${code} ${code === 0 ? "" : stderr}`).toBe("0 ");
  for (const line of stdout.trimEnd().split("\n").slice(1)) expect(line).toEndWith("  the same");
}

function passwordOf(url: string): string {
  return URL.parse(url)?.password ?? "";
}

export async function queryRows<Row extends object>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** Requests to a server, with a key of its project. */
export function requestsTo({ address }: { address: string }, key: string) {
  const request = (path: string, init: RequestInit = {}) =>
    fetch(address + path, {
      headers: { "content-type": "application/json", "x-api-key": key },
      ...init,
    });
  return {
    request,
    send: (path: string, method: string, body: unknown) =>
      request(path, { method, body: JSON.stringify(body) }),
  };
}

export function copyOf(directory: string): string {
  const copy = newDirectory();
  cpSync(directory, copy, { recursive: true });
  return copy;
}
