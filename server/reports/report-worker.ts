import { WorkLoop } from "../scheduling/work-loop.ts";
import type { Store } from "../storage/store.ts";
import { makeDue } from "./send-report.ts";

type Deps = {
  store: Pick<Store, "control">;
  /** Deliveries were made. */
  onMade: () => void;
  onError: (error: unknown) => void;
  now: () => number;
};

/** Reports that are made due before the next look. */
const stepMax = 100;
/** Many are due at the same hour. They are sent one after another, so that their computations don't pile up. */
const pauseMs = 1_000;
/** Changes by other nodes wake nobody here, so they are noticed this late at most. */
const idleMs = 60_000;

/** Makes the deliveries of reports that are due, and sleeps until the next one is. */
export class ReportWorker extends WorkLoop {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    super(deps);
    this.#deps = deps;
  }

  protected async work(): Promise<void> {
    const { store, onMade, now } = this.#deps;
    let made = 0;
    for (;;) {
      const due = await store.control
        .selectFrom("reports")
        .select(["id", "dueAt"])
        .where("dueAt", "<=", now())
        .orderBy("dueAt")
        .orderBy("id")
        .limit(stepMax)
        .execute();
      for (const { id, dueAt } of due) {
        if (this.isClosed) return;
        const isMade = await store.control
          .transaction()
          .execute((transaction) => makeDue(transaction, { id, dueAt: dueAt! }, now(), made * pauseMs));
        if (isMade) made++;
      }
      if (made > 0) onMade();
      if (due.length < stepMax) return;
    }
  }

  protected async waitMs(): Promise<number> {
    const { store, now } = this.#deps;
    const next = await store.control
      .selectFrom("reports")
      .select("dueAt")
      .where("dueAt", "is not", null)
      .orderBy("dueAt")
      .limit(1)
      .executeTakeFirst();
    const waitMs = (next?.dueAt ?? Number.POSITIVE_INFINITY) - now();
    return Math.min(Math.max(waitMs, 10), idleMs);
  }
}
