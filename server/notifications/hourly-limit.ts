import type { Kysely, Transaction } from "kysely";
import type { ToldMatch } from "../rules/open-rule.ts";
import type { ControlTables } from "../storage/control-tables.ts";

const hourMs = 3_600_000;

/** Messages of a rule that were held back. The rule is null for events of members who want all. */
export type HeldMessages = { projectId: number; rule: { id: string; name: string } | null; count: number };

/** An hour of a destination, which began with a message. Times are milliseconds since 1970. */
export type MessageHour = {
  startedAt: number;
  messages: number;
  held: HeldMessages[];
  heldSince: number | null;
};

type Recipient = { id: string; hourlyLimit: number | null };

/**
 * How many messages a destination may still get in its hour, which begins with a message. Urgent messages, ends of
 * alerts and tests pass; urgent ones are counted, too.
 *
 * Invariant: messages are counted in the transaction that makes their deliveries, so a destination gets exactly as many
 * as its limit allows, from all nodes. Checked by `server/notifications/hourly-limit.test.ts`.
 */
export class HourlyLimits {
  readonly #nowMs: number;
  readonly #hours: Map<string, MessageHour>;
  readonly #changed = new Set<string>();
  /** Hours that ended, and whose held messages nobody was told of. */
  readonly ended: { destinationId: string; hour: MessageHour }[] = [];

  private constructor(nowMs: number, hours: Map<string, MessageHour>) {
    this.#nowMs = nowMs;
    this.#hours = hours;
  }

  /** Reads the hours of recipients with a limit. Whoever makes deliveries holds their lock. */
  static async read(
    transaction: Transaction<ControlTables>,
    recipients: readonly Recipient[],
    nowMs: number,
  ): Promise<HourlyLimits> {
    const limited = new Set(recipients.flatMap(({ id, hourlyLimit }) => (hourlyLimit === null ? [] : [id])));
    if (limited.size === 0) return new HourlyLimits(nowMs, new Map());
    const rows = await transaction
      .selectFrom("messageHours")
      .selectAll()
      .where("destinationId", "in", [...limited])
      .execute();
    return new HourlyLimits(nowMs, new Map(rows.map((row) => [row.destinationId, hourOf(row)])));
  }

  /** Counts a message. False if it is held back. */
  take(recipient: Recipient, match: ToldMatch): boolean {
    const { id, hourlyLimit } = recipient;
    if (hourlyLimit === null || isFree(match)) return true;
    const hour = this.#hourOf(id);
    this.#changed.add(id);
    if (match.rule?.urgent || hour.messages < hourlyLimit) {
      hour.messages++;
      return true;
    }
    hour.heldSince ??= this.#nowMs;
    add(hour, match, 1);
    return false;
  }

  /** A message that was held back is sent after all, for another rule. */
  release({ id }: Recipient, match: ToldMatch): void {
    const hour = this.#hours.get(id);
    if (hour) add(hour, match, -1);
  }

  async save(transaction: Transaction<ControlTables>): Promise<void> {
    for (const destinationId of this.#changed) {
      const { held, startedAt, messages, heldSince } = this.#hours.get(destinationId)!;
      const isHeld = held.some(({ count }) => count > 0);
      const values = {
        startedAt,
        messages,
        held: JSON.stringify(held),
        heldSince: isHeld ? heldSince : null,
        dueAt: isHeld ? startedAt + hourMs : null,
      };
      await transaction
        .insertInto("messageHours")
        .values({ destinationId, ...values })
        .onConflict((conflict) => conflict.column("destinationId").doUpdateSet(values))
        .execute();
    }
  }

  #hourOf(destinationId: string): MessageHour {
    const stored = this.#hours.get(destinationId);
    if (stored && this.#nowMs < stored.startedAt + hourMs) return stored;
    if (stored?.held.some(({ count }) => count > 0)) this.ended.push({ destinationId, hour: stored });
    const begun = { startedAt: this.#nowMs, messages: 0, held: [], heldSince: null };
    this.#hours.set(destinationId, begun);
    return begun;
  }
}

/** When a destination must be told of messages that were held back; null if there are none. */
export async function nextHourEndAt(control: Kysely<ControlTables>): Promise<number | null> {
  const next = await control
    .selectFrom("messageHours")
    .select("dueAt")
    .where("dueAt", "is not", null)
    .orderBy("dueAt")
    .limit(1)
    .executeTakeFirst();
  return next?.dueAt ?? null;
}

export function hourOf(row: { startedAt: number; messages: number; held: string; heldSince: number | null }) {
  const { startedAt, messages, held, heldSince } = row;
  return { startedAt, messages, held: JSON.parse(held) as HeldMessages[], heldSince };
}

/** Whether a message passes and isn't counted: a test, or that something works again. */
function isFree({ notification: { type } }: ToldMatch): boolean {
  return ["rule-test", "resolved", "recovery", "metric-recovery"].includes(type);
}

function add({ held }: MessageHour, { projectId, rule }: ToldMatch, count: number): void {
  const same = held.find((each) => each.projectId === projectId && each.rule?.id === rule?.id);
  if (same) same.count += count;
  else held.push({ projectId, rule: rule && { id: rule.id, name: rule.name }, count });
}
