// @long
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, rmdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startPostgres, testDatabase } from "./postgres.ts";

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

test("each test has its own database, a copy of one that was prepared once", async () => {
  let prepared = 0;
  const prepare = async (url: string) => {
    prepared++;
    await query(url, "CREATE TABLE things (name text)");
  };
  const [one, other] = await Promise.all([testDatabase(prepare), testDatabase(prepare)]);
  await query(one.url, "INSERT INTO things VALUES ('mine')");
  expect(await query(one.url, "SELECT name FROM things")).toEqual([{ name: "mine" }]);
  expect(await query(other.url, "SELECT name FROM things")).toEqual([]);
  expect(prepared).toBe(1);
  await Promise.all([one.drop(), other.drop()]);
});

test("a durable server keeps what it committed before it was killed", async () => {
  const server = await startPostgres({ durable: true });
  try {
    const { url } = await server.database();
    await query(url, "CREATE TABLE things (name text)");
    await query(url, "INSERT INTO things VALUES ('kept')");
    await server.stop("immediate");
    expect(await query(url, "SELECT 1").catch((error) => error.code)).toBe("ECONNREFUSED");
    await server.start();
    expect(await query(url, "SELECT name FROM things")).toEqual([{ name: "kept" }]);
  } finally {
    await server.remove();
  }
});

test("a server ends with the process that started it and leaves nothing behind", async () => {
  const start = `const { startPostgres } = await import(${JSON.stringify(join(import.meta.dir, "postgres.ts"))});
    console.log(new URL((await startPostgres()).adminUrl("postgres")).port);
    await Bun.sleep(60_000);`;
  const temporary = join(tmpdir(), `tidings-ending-${process.pid}`);
  mkdirSync(temporary);
  const child = Bun.spawn([process.execPath, "-e", start], {
    env: { ...process.env, TMPDIR: temporary },
    stdout: "pipe",
  });
  const { value } = await child.stdout.getReader().read();
  expect(readdirSync(temporary)).toHaveLength(1);
  child.kill("SIGKILL");
  while (readdirSync(temporary).length > 0) await Bun.sleep(50);
  const port = Number(new TextDecoder().decode(value));
  expect(await query(`postgres://a:b@127.0.0.1:${port}/c`, "SELECT 1").catch((error) => error.code)).toBe(
    "ECONNREFUSED",
  );
  rmdirSync(temporary);
});
