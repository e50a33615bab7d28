import type { Pool } from "pg";
import { UnfitDatabase } from "./failure.ts";

/** The setting that marks a database into which a data directory is moved (move.ts), until a server takes it over. */
export const movingSetting = "move";
export const moving = { underWay: "under way", done: "done" } as const;

/**
 * Takes over a database that a data directory was moved into. From now on nothing can be moved into it, as that would
 * undo changes. Throws if the move is not finished.
 *
 * Invariant: no server uses a database into which a data directory is being moved. Checked by
 * `server/migrate-to/cut-short.test.ts`.
 */
export async function takeOver(pool: Pool): Promise<void> {
  for (;;) {
    const { rows } = await pool.query<{ value: string }>("SELECT value FROM settings WHERE name = $1", [
      movingSetting,
    ]);
    const state = rows[0]?.value;
    if (state === undefined) return;
    if (state !== moving.done) {
      throw new UnfitDatabase(
        "A move into this database is unfinished. Run tidings migrate-to again until it says that everything matches.",
      );
    }
    await pool.query("DELETE FROM settings WHERE name = $1 AND value = $2", [movingSetting, moving.done]);
  }
}
