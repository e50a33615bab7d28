import { expect, test } from "bun:test";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { purgedTables } from "./purge.ts";

const usersFolder = join(import.meta.dir, "../../users");

test("each table whose rows an erasure deletes or changes is vacuumed", async () => {
  const names = (await readdir(usersFolder)).filter((name) =>
    /^(erase-|activity-entries).*(?<!test)\.ts$/.test(name),
  );
  const sources = await Promise.all(names.map((name) => Bun.file(join(usersFolder, name)).text()));
  const written = sources.flatMap((source) =>
    [...source.matchAll(/\.(?:deleteFrom|updateTable)\("(\w+)"\)/g)].map(([, table]) => table!),
  );
  expect(written).toContain("cohortMembers");
  const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  // It has only numbers.
  const tables = new Set(written.map(snakeCase).filter((name) => name !== "people_versions"));
  expect([...tables].filter((name) => !purgedTables.includes(name))).toEqual([]);
});
