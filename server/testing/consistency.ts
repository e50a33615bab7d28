import { expectPostgresConsistent } from "./consistency-postgres.ts";
import { expectSqliteConsistent } from "./consistency-sqlite.ts";
import type { Place } from "./engine.ts";

/** Expects that counters, channels, ids and the index say the same as the rows of a place; gives the number of rows. */
export async function expectConsistent({ dataDirectory, databaseUrl }: Place): Promise<number> {
  return databaseUrl === null
    ? expectSqliteConsistent(dataDirectory)
    : await expectPostgresConsistent(databaseUrl);
}
