import { expectPostgresConsistent } from "./consistency-postgres.ts";
import { expectSqliteConsistent } from "./consistency-sqlite.ts";
import type { Place } from "./engine.ts";

/** Expects counters, channels, ids and the index to agree with the event rows. Returns the number of rows. */
export async function expectConsistent({ dataDirectory, databaseUrl }: Place): Promise<number> {
  return databaseUrl === null
    ? expectSqliteConsistent(dataDirectory)
    : await expectPostgresConsistent(databaseUrl);
}
