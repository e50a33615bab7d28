import type { Kysely } from "kysely";
import type { LiveStreams } from "../events/live.ts";
import type { ControlTables } from "../storage/control-tables.ts";

/** How often the sessions that watch a stream are looked up: they may expire, or end in another process. */
const lookMs = 5_000;

/** Ends the live streams of sessions that are over. */
export class SessionWatch {
  readonly #control: Kysely<ControlTables>;
  readonly #live: LiveStreams;
  readonly #looking: Timer;

  constructor(control: Kysely<ControlTables>, live: LiveStreams, onError: (error: unknown) => void) {
    this.#control = control;
    this.#live = live;
    this.#looking = setInterval(() => this.look().catch(onError), lookMs);
    this.#looking.unref();
  }

  /** Looks at once, such as after somebody signed out. */
  async look(): Promise<void> {
    const ids = this.#live.sessions();
    if (ids.length === 0) return;
    const rows = await this.#control
      .selectFrom("sessions")
      .select("id")
      .where("id", "in", ids)
      .where("expiresAt", ">", new Date().toISOString())
      .execute();
    const there = new Set(rows.map(({ id }) => id));
    for (const id of ids) if (!there.has(id)) this.#live.cutSession(id);
  }

  close(): void {
    clearInterval(this.#looking);
  }
}
