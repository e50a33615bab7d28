// @engines sqlite, postgres, clickhouse
/** A property of users is read without their others, which can be 50 kB a user. */
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import pg from "pg";
import { makeStorage, removeStorage, storeEngines, type TestStorage } from "../../testing/engine.ts";
import { createQuery, type Query } from "../postgres/query.ts";
import { createReadProperty as createPostgresReader } from "../postgres/read-property.ts";
import { createReadProperty as createSqliteReader } from "../sqlite/read-property.ts";
import type { ReadProperty } from "./scan.ts";

const makeTable = "CREATE TEMPORARY TABLE users (project_id integer, user_id text, properties text)";
const others = Object.fromEntries(
  Array.from({ length: 49 }, (_, index) => [`other ${index}`, "x".repeat(1_000)]),
);
const userCount = 2_500;
const idOf = (index: number) => `u${String(index).padStart(5, "0")}`;

type Reader = { read: ReadProperty; write: (projectId: number, rows: [string, object][]) => Promise<void> };

describe.each([...storeEngines])("a property of users on %s", (engine) => {
  let storage: TestStorage;
  let reader: Reader;
  let close: () => Promise<void>;
  /** Characters of the largest result of one statement. */
  let largest = 0;
  const measured = <Rows extends object>(rows: Rows): Rows => {
    largest = Math.max(largest, JSON.stringify(rows).length);
    return rows;
  };

  beforeAll(async () => {
    if (engine === "sqlite") {
      const database = new Database(":memory:");
      database.run(makeTable);
      const insert = database.prepare("INSERT INTO users VALUES (?1, ?2, ?3)");
      const prepare = (sql: string) => {
        const statement = database.prepare(sql);
        return { values: (...parameters: never[]) => measured(statement.values(...parameters)) };
      };
      reader = {
        read: createSqliteReader({ prepare } as unknown as Database),
        write: async (projectId, rows) => {
          for (const [id, own] of rows) insert.run(projectId, id, JSON.stringify(own));
        },
      };
      close = async () => database.close();
      return;
    }
    storage = await makeStorage(engine);
    // One connection: the table is temporary.
    const pool = new pg.Pool({ connectionString: storage.databaseUrl!, max: 1 });
    const runQuery = createQuery(pool, 30_000);
    await runQuery(makeTable);
    const measuredQuery: Query = async (...query) => measured(await runQuery(...query));
    reader = {
      read: createPostgresReader(measuredQuery as Query),
      write: async (projectId, rows) => {
        const values = [rows.map(([id]) => id), rows.map(([, own]) => JSON.stringify(own))];
        await runQuery("INSERT INTO users SELECT $1, unnest($2::text[]), unnest($3::text[])", [
          projectId,
          ...values,
        ]);
      },
    };
    close = async () => {
      await pool.end();
      await removeStorage(storage);
    };
  }, 60_000);
  afterAll(() => close());

  async function read(projectId: number, key: string): Promise<[string, string][]> {
    const found: [string, string][] = [];
    await reader.read(projectId, key, (userId, value) => found.push([userId, value]), {});
    return found;
  }

  test("comes without the others", async () => {
    for (let from = 0; from < userCount; from += 500)
      await reader.write(
        1,
        Array.from({ length: 500 }, (_, index) => [
          idOf(from + index),
          { ...others, plan: `plan ${from + index}` },
        ]),
      );
    largest = 0;
    const found = await read(1, "plan");
    expect(found).toEqual(Array.from({ length: userCount }, (_, index) => [idOf(index), `plan ${index}`]));
    expect(largest).toBeLessThan(100_000);
  }, 60_000);

  test("may have any name and kind of value", async () => {
    const names = [
      'a"b',
      "a\\b",
      '\\"',
      "a.b",
      "$",
      "$.a",
      "[0]",
      "'",
      "\\u0041",
      "😀",
      "__proto__",
      "toString",
    ];
    const values = ["", '"x" \\ 😀\n', "5", 5, -0.5, 1e21, 1e-7, true, false, null];
    const rows = names.flatMap((name) => values.map((value) => ({ name, value })));
    await reader.write(
      2,
      rows.map(({ name, value }, index) => [
        idOf(index),
        Object.fromEntries([
          ["else", 1],
          [name, value],
        ]),
      ]),
    );
    for (const each of names) {
      const expected = rows.flatMap(({ name, value }, index) =>
        name === each && value !== null ? [[idOf(index), String(value)]] : [],
      );
      expect(await read(2, each)).toEqual(expected as [string, string][]);
    }
    expect(await read(2, "valueOf")).toEqual([]);
  });
});
