import type { Kysely, Transaction } from "kysely";
import { installationOwner } from "../projects/installation-owner.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import type { MemberNotice } from "./notification-message.ts";
import { deliverNotice } from "./tell-members.ts";

type Control = Kysely<ControlTables>;

/** What can stop working. Its outage has a row in `settings`. */
export type OutageSubject = "backup" | "changes" | "verification" | "disk" | "damage";

type Deps = {
  control: Control;
  /** Whether email is configured. */
  hasEmail: boolean;
  /** Called when something is to be sent. */
  onMade: () => void;
  now: () => number;
};

/**
 * Tells the owner of the installation, in the inbox and by email, when a part of the server stops working, and when it
 * works again: once for each outage, however often it is reported, and across restarts.
 */
export class ServerOutages {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** @param detail - what happened and what to do, as sentences */
  async begin(subject: OutageSubject, title: string, detail: string): Promise<void> {
    if ((await this.beganMs(subject)) !== null) return;
    await this.#tell(title, detail, async (transaction, atMs) => {
      const { numInsertedOrUpdatedRows } = await transaction
        .insertInto("settings")
        .values({ name: nameOf(subject), value: String(atMs) })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      return numInsertedOrUpdatedRows === 1n;
    });
  }

  /** Call it whenever the part works. */
  async end(subject: OutageSubject, title: string, detail: string): Promise<void> {
    if ((await this.beganMs(subject)) === null) return;
    await this.#tell(title, detail, async (transaction) => {
      const { numDeletedRows } = await transaction
        .deleteFrom("settings")
        .where("name", "=", nameOf(subject))
        .executeTakeFirst();
      return numDeletedRows === 1n;
    });
  }

  /** When the outage began; null if there is none. */
  async beganMs(subject: OutageSubject): Promise<number | null> {
    const row = await this.#deps.control
      .selectFrom("settings")
      .select("value")
      .where("name", "=", nameOf(subject))
      .executeTakeFirst();
    return row ? Number(row.value) : null;
  }

  /** @param change - records it, and returns false if another node already did */
  async #tell(
    title: string,
    detail: string,
    change: (transaction: Transaction<ControlTables>, atMs: number) => Promise<boolean>,
  ): Promise<void> {
    const atMs = this.#deps.now();
    const isNew = await this.#deps.control.transaction().execute(async (transaction) => {
      if (!(await change(transaction, atMs))) return false;
      await deliver(transaction, this.#deps.hasEmail, { type: "server-notice", atMs, title, detail });
      return true;
    });
    if (isNew) this.#deps.onMade();
  }
}

function nameOf(subject: OutageSubject): string {
  return `outage ${subject}`;
}

/**
 * To the oldest account, which owns the installation, as a delivery of its oldest project. Email is sent also if the
 * account gets no events by email.
 */
async function deliver(
  transaction: Transaction<ControlTables>,
  hasEmail: boolean,
  notice: MemberNotice,
): Promise<void> {
  const owner = await installationOwner(transaction);
  if (owner === undefined) return;
  const membership = await transaction
    .selectFrom("members")
    .select("projectId")
    .where("accountId", "=", owner)
    .orderBy("projectId")
    .limit(1)
    .executeTakeFirst();
  if (!membership) return;
  const destinations = await transaction
    .selectFrom("destinations")
    .select(["accountId", "id", "kind", "name as label"])
    .where("accountId", "=", owner)
    .where((eb) =>
      hasEmail
        ? eb.or([eb("enabled", "=", 1), eb("kind", "=", "email")])
        : eb.and([eb("enabled", "=", 1), eb("kind", "!=", "email")]),
    )
    .execute();
  await deliverNotice(transaction, membership.projectId, destinations, notice);
}
