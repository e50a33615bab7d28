import type { Transaction } from "kysely";
import { type AlertRow, isAcknowledged } from "../alerts/alerts.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type AlertTimes, escalatesAt, firstReminderAt } from "./escalation.ts";
import type { RuleMatch } from "./open-rule.ts";
import { minuteMs } from "./rule-kind.ts";

type Member = Pick<
  AlertRow,
  | "id"
  | "ruleId"
  | "groupId"
  | "groupValue"
  | "toldAt"
  | "tellAt"
  | "remindAt"
  | "escalateAt"
  | "steps"
  | "acknowledgedAt"
  | "acknowledgedUntil"
  | "silencedUntil"
>;
/** Columns that a new alert takes over from the open ones of its group, so that all are told and reminded together. */
type Joined = Pick<AlertRow, "groupId" | "groupValue" | "toldAt" | "steps"> & Omit<AlertTimes, "dueAt">;

/** How long further alerts of a group are collected before they are told together. */
const collectMs = 5 * minuteMs;

/** The open alerts of the groups that a step needs. They change in memory as the step opens and resolves alerts. */
export class AlertGroups {
  readonly #members: Map<string, Member[]>;
  /** When somebody was last told of a group, also of its alerts that are over. */
  readonly #toldMs: ReadonlyMap<string, number>;
  readonly #transaction: Transaction<ControlTables>;

  private constructor(
    transaction: Transaction<ControlTables>,
    members: Member[],
    toldMs: ReadonlyMap<string, number>,
  ) {
    this.#transaction = transaction;
    this.#toldMs = toldMs;
    this.#members = Map.groupBy(members, keyOf);
  }

  /** @param open - alerts of these groups may be resolved */
  static async read(
    transaction: Transaction<ControlTables>,
    matches: readonly RuleMatch[],
    open: Iterable<Pick<AlertRow, "groupId">>,
  ): Promise<AlertGroups> {
    const ofGroups = matches.filter(({ groupValue }) => groupValue !== "");
    const ids = new Set([...open].flatMap(({ groupId }) => groupId ?? []));
    if (ofGroups.length === 0 && ids.size === 0) return new AlertGroups(transaction, [], new Map());
    const members = await transaction
      .selectFrom("alerts")
      .select([
        "id",
        "ruleId",
        "groupId",
        "groupValue",
        "toldAt",
        "tellAt",
        "remindAt",
        "escalateAt",
        "steps",
        "acknowledgedAt",
        "acknowledgedUntil",
        "silencedUntil",
      ])
      .where("resolvedAt", "is", null)
      .where((eb) =>
        eb.or([
          ...(ids.size > 0 ? [eb("groupId", "in", [...ids])] : []),
          ...(ofGroups.length > 0
            ? [
                eb.and([
                  eb("ruleId", "in", [...new Set(ofGroups.map(({ rule }) => rule!.id))]),
                  eb("groupValue", "in", [...new Set(ofGroups.map(({ groupValue }) => groupValue))]),
                ]),
              ]
            : []),
        ]),
      )
      .execute();
    return new AlertGroups(transaction, members, await readToldMs(transaction, members));
  }

  /** The place of a new alert in its group; null if it belongs to none, or is the first one of it. */
  join({ rule, groupValue, foundMs }: RuleMatch): Joined | null {
    const members =
      groupValue === "" ? [] : (this.#members.get(keyOf({ ruleId: rule!.id, groupValue })) ?? []);
    const first = members[0];
    if (!first) return null;
    // One that is silenced or looked after waits for something else.
    const peer = members.find((each) => each.silencedUntil === null && !isAcknowledged(each, foundMs));
    const pending = members.find(
      ({ tellAt, silencedUntil }) => tellAt !== null && silencedUntil === null,
    )?.tellAt;
    const { groupId } = first;
    const toldMs = Math.max(this.#toldMs.get(groupId!) ?? 0, ...members.map(({ toldAt }) => toldAt ?? 0));
    const began = { openedAt: foundMs, silencedMs: 0, steps: 0 };
    const { remindAt, escalateAt, steps } = peer ?? {
      remindAt: firstReminderAt(rule!, foundMs),
      escalateAt: escalatesAt(rule!, began),
      steps: 0,
    };
    const tellAt = pending ?? Math.max(foundMs, toldMs + collectMs);
    return { groupId, groupValue, toldAt: null, tellAt, remindAt, escalateAt, steps };
  }

  add(alert: Member): void {
    if (alert.groupId === null) return;
    const members = this.#members.get(keyOf(alert)) ?? [];
    this.#members.set(keyOf(alert), [...members, alert]);
  }

  /** Takes a resolved alert out of its group. */
  leave(alert: Pick<Member, "id" | "ruleId" | "groupValue">): void {
    const members = this.#members.get(keyOf(alert)) ?? [];
    this.#members.set(
      keyOf(alert),
      members.filter(({ id }) => id !== alert.id),
    );
  }

  /** How many alerts of a group are open. */
  sizeOf(alert: Pick<Member, "ruleId" | "groupValue">): number {
    return this.#members.get(keyOf(alert))?.length ?? 0;
  }

  /** How many alerts a group has had since it began, and when one of them was told; null if none was. */
  async sumUp(groupId: string): Promise<{ alerts: number; toldAt: number | null }> {
    const { alerts, toldAt } = await this.#transaction
      .selectFrom("alerts")
      .select((eb) => [eb.fn.countAll<number>().as("alerts"), eb.fn.max("toldAt").as("toldAt")])
      .where("groupId", "=", groupId)
      .executeTakeFirstOrThrow();
    return { alerts: Number(alerts), toldAt };
  }
}

async function readToldMs(
  transaction: Transaction<ControlTables>,
  members: readonly Member[],
): Promise<Map<string, number>> {
  const ids = [...new Set(members.flatMap(({ groupId }) => groupId ?? []))];
  if (ids.length === 0) return new Map();
  const rows = await transaction
    .selectFrom("alerts")
    .select((eb) => ["groupId", eb.fn.max("toldAt").as("toldAt")])
    .where("groupId", "in", ids)
    .groupBy("groupId")
    .execute();
  return new Map(rows.map(({ groupId, toldAt }) => [groupId!, toldAt ?? 0]));
}

function keyOf({ ruleId, groupValue }: Pick<Member, "ruleId" | "groupValue">): string {
  return `${ruleId} ${groupValue}`;
}
