/**
 * Starts the PostgreSQL that all processes of one `npm test` share, prints the variables that name it as one line of JSON, and
 * ends with its standard input (`scripts/test.mjs`).
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
