// @long
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import type { Event } from "../../event/event.ts";
import { runTidings } from "../../testing/server-process.ts";
import { testApp } from "../../testing/test-app.ts";
import { ParquetFile } from "./parquet-file.ts";

const files = mkdtempSync(join(tmpdir(), "tidings-parquet-"));
afterAll(() => rmSync(files, { recursive: true }));

async function read(file: string) {
  const buffer = await asyncBufferFromFile(file);
  const metadata = await parquetMetadataAsync(buffer);
  return { metadata, rows: await parquetReadObjects({ file: buffer, metadata }) };
}

/** An event as a row, with all columns. */
function rowOf({ createdAt, ...event }: Event) {
  return { icon: null, event: null, description: null, ...event, createdAt: new Date(createdAt) };
}

test("another library reads what an export wrote", async () => {
  await using app = await testApp();
  const events = [
    {
      channel: "payments",
      name: "Payment received",
      userId: "u1",
      icon: "💰",
      notify: true,
      tags: { plan: "pro" },
    },
    { channel: "ünï\u2028", name: '"quoted", 漢字 🇩🇪', tags: { "a.b": "", long: "x".repeat(1_000) } },
    {
      channel: "old",
      name: "Dated",
      event: "second",
      description: "# Text\n\twith\nlines",
      createdAt: "1999-12-31T23:59:59.999Z",
    },
  ];
  for (const event of events) expect((await app.post(event)).status).toBe(201);
  const file = join(files, "events.parquet");
  const environment = { TIDINGS_API_KEY: app.key };
  const exported = await runTidings(["export", file, "--url", app.address, "--json"], environment);
  expect([exported.code, JSON.parse(exported.stdout)]).toEqual([0, { file, format: "parquet", events: 3 }]);
  const { metadata, rows } = await read(file);
  expect(rows).toEqual((await app.list("?order=asc")).map(rowOf));
  expect(metadata.schema.slice(1).map(({ name }) => name)).toEqual([
    "id",
    "createdAt",
    "channelId",
    "name",
    "userId",
    "notify",
    "icon",
    "event",
    "description",
    "tags",
  ]);
});

test("a file of several groups of rows has each event once, in order", async () => {
  const file = join(files, "many.parquet");
  const parquet = new ParquetFile(file);
  const count = 25_000;
  for (let n = 0; n < count; n++)
    await parquet.add({
      id: `id${n}`,
      name: `n${n}`,
      channelId: "many",
      userId: "",
      notify: n % 2 === 0,
      tags: {},
      createdAt: new Date(n * 1_000).toISOString(),
    });
  await parquet.finish();
  const { metadata, rows } = await read(file);
  expect(metadata.row_groups.length).toBe(3);
  expect(rows.length).toBe(count);
  expect(rows.findIndex(({ id, createdAt }, n) => id !== `id${n}` || Number(createdAt) !== n * 1_000)).toBe(
    -1,
  );
});

test("an export without events is a file without rows", async () => {
  const file = join(files, "empty.parquet");
  await new ParquetFile(file).finish();
  expect((await read(file)).rows).toEqual([]);
});
