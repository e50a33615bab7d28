import { CamelCasePlugin, Kysely } from "kysely";
import type { Pool } from "pg";
import type { ControlTables } from "../control-tables.ts";
import type { Store, StoreWatch } from "../store.ts";
import { blockEventsUsual } from "./build-blocks.ts";
import { createClaimDeliveries } from "./deliveries.ts";
import { createDialect } from "./dialect.ts";
import { createPostgresEvents } from "./events.ts";
import { isPassing, storageProblem } from "./failure.ts";
import { migrate } from "./migrate.ts";
import { takeOver } from "./migration-guard.ts";
import type { OpenOlderEvents } from "./older.ts";
import { takeOutbox } from "./outbox.ts";
import { type DatabaseAddress, openPool } from "./pool.ts";
import { createRateLimiter } from "./rate-limiter.ts";
import { rowsOf } from "./rows-of.ts";
import { checkServer } from "./server-settings.ts";

/** The pause between two attempts to reach a server that does not answer yet. */
const firstWaitMs = 250;
const longestWaitMs = 5_000;

/**
 * Opens the store of a database and migrates it to this program's version. Waits for a server that does not answer, as
 * it can be starting, too.
 *
 * @param blockEvents - events per block
 * @param migrations - directories with the migrations, if they are not the program's own
 * @param openOlder - opens ClickHouse, which then has all but the newest events
 */
export async function openPostgresStore(
  address: DatabaseAddress,
  watch: StoreWatch,
  blockEvents = blockEventsUsual,
  migrations?: readonly string[],
  openOlder: OpenOlderEvents | null = null,
): Promise<Store> {
  const onError = (error: unknown) => watch.onError(storageProblem(error));
  const pool = openPool(address, onError);
  try {
    await prepareDatabase(pool, watch, migrations);
    const control = new Kysely<ControlTables>({
      dialect: createDialect(pool),
      plugins: [new CamelCasePlugin()],
    });
    const events = await createPostgresEvents({
      control,
      pool,
      address,
      watch: { ...watch, onError },
      blockEvents,
      openOlder,
    });
    return {
      events,
      control,
      together: (_, run) => control.transaction().execute(run),
      rowsOf,
      takeOutbox,
      observeWriter: () => {},
      backgroundHeldMs: () => null,
      claimDeliveries: createClaimDeliveries(control),
      rateLimiter: (options) => createRateLimiter(pool, options),
      dataDirectory: null,
      segments: null,
      older: events.older,
      async bytes() {
        const { rows } = await pool.query("SELECT pg_database_size(current_database()) AS bytes");
        return Number(rows[0].bytes);
      },
      async close() {
        await events.close();
        await control.destroy();
        await pool.end();
      },
    };
  } catch (error) {
    await pool.end();
    throw error;
  }
}

async function prepareDatabase(pool: Pool, watch: StoreWatch, migrations?: readonly string[]): Promise<void> {
  const { onWaiting, onWarning, connectTimeoutMs } = watch;
  const until = Date.now() + connectTimeoutMs;
  for (let waitMs = firstWaitMs; ; waitMs = Math.min(waitMs * 2, longestWaitMs)) {
    try {
      await checkServer(pool, onWarning);
      await migrate(pool, watch, migrations);
      return await takeOver(pool);
    } catch (error) {
      if (!isPassing(error) || Date.now() + waitMs > until) throw error;
      onWaiting((error as Error).message);
      await Bun.sleep(waitMs);
    }
  }
}
