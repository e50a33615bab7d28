/**
 * Starts the PostgreSQL server that all processes of one `npm test` share, prints its environment variables as one line
 * of JSON, and ends with its standard input (`scripts/test.mjs`).
 */
import { startPostgres } from "./postgres.ts";

const { adminUrl, roleUrl, remove } = await startPostgres();
console.log(
  JSON.stringify({
    TIDINGS_TEST_POSTGRES: adminUrl("postgres"),
    TIDINGS_TEST_POSTGRES_ROLE: roleUrl("postgres"),
  }),
);
await Bun.stdin.text();
await remove();
