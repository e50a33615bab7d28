import { type Selectable, sql, type Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { withLock } from "../storage/settings.ts";
import type { Store } from "../storage/store.ts";
import { changeEvent, pingEvent, type ReceivedPing } from "./heartbeat-events.ts";
import {
  afterDowntime,
  dueAt,
  type HeartbeatState,
  onPing,
  onTime,
  type Ping,
  type StateChange,
} from "./heartbeat-state.ts";
import { type HeartbeatRow, timesOf } from "./heartbeats.ts";

/** What becomes of a heartbeat: its state, the pings to keep, and the events to record, all in order. */
export type Applied = { state: HeartbeatState; pings: ReceivedPing[]; events: object[] };

/** A ping of a heartbeat, before it is known what it means for it. `atMs` is when it came. */
export type NewPing = Ping & Pick<ReceivedPing, "exitStatus" | "body" | "atMs">;

type Deps = Pick<Store, "together" | "rowsOf">;

/**
 * Changes heartbeats in one transaction, which waits for other changes of heartbeats on all nodes. Returns the ids of
 * those that are still there.
 *
 * @param ids - up to some hundred
 * @param apply - has no effects, because a transaction may be repeated; null changes nothing
 */
export async function changeHeartbeats(
  { together, rowsOf }: Deps,
  ids: readonly string[],
  apply: (row: HeartbeatRow) => Applied | null,
): Promise<Set<string>> {
  return together("control", async (transaction) => {
    await withLock(transaction, "heartbeats");
    const rows = await transaction.selectFrom("heartbeats").selectAll().where("id", "in", ids).execute();
    const changed = rows.flatMap((row) => {
      const applied = apply(row);
      return applied ? [{ row, ...applied }] : [];
    });
    await saveStates(transaction, rowsOf, changed);
    await keepPings(
      transaction,
      rowsOf,
      changed.flatMap(({ row, pings }) => pings.map((ping) => ({ heartbeatId: row.id, ...ping }))),
    );
    const events = changed.flatMap(({ row: { projectId }, events }) =>
      events.map((event) => ({ projectId, event: JSON.stringify(event) })),
    );
    if (events.length > 0)
      await transaction
        .insertInto("heartbeatEvents")
        .columns(["projectId", "event"])
        .expression(rowsOf("heartbeatEvents", ["projectId", "event"], events))
        .execute();
    return new Set(rows.map(({ id }) => id));
  });
}

/**
 * Takes in pings of a heartbeat, one after the other. Each counts from when it came, unless another node has stored a
 * later one: then from that one's time.
 */
export function applyPings(row: HeartbeatRow, pings: readonly NewPing[]): Applied {
  const applied: Applied = { state: stateIn(row), pings: [], events: [] };
  for (const ping of pings) {
    const { state, changes, runMs } = onPing(timesOf(row), applied.state, ping, ping.atMs);
    const received = { ...ping, runMs, atMs: state.pingedMs! };
    applied.state = state;
    applied.pings.push(received);
    // What was due before the ping happened before it.
    const isOfPing = (change: StateChange) => change.type === "up" || change.reason === "failed";
    applied.events.push(
      ...changes.filter((change) => !isOfPing(change)).map((change) => changeEvent(row, change)),
      pingEvent(row, received),
      ...changes.filter(isOfPing).map((change) => changeEvent(row, change, received)),
    );
  }
  return applied;
}

/** Lets time pass: the heartbeat is down if that is due. */
export function applyTime(row: HeartbeatRow, nowMs: number): Applied | null {
  const before = stateIn(row);
  const { state, changes } = onTime(timesOf(row), before, nowMs);
  // A time zone's rules may have changed since the row was written: then it is due at another time.
  if (state === before && dueAt(timesOf(row), state) === row.dueAt) return null;
  return { state, pings: [], events: changes.map((change) => changeEvent(row, change)) };
}

/** After the server was down, what is due waits for pings that may still come. */
export function applyDowntime(row: HeartbeatRow, nowMs: number): Applied | null {
  const before = stateIn(row);
  const state = afterDowntime(timesOf(row), before, nowMs);
  return state === before ? null : { state, pings: [], events: [] };
}

export function stateIn(row: Pick<HeartbeatRow, "state">): HeartbeatState {
  return JSON.parse(row.state) as HeartbeatState;
}

/** Saves the states, and when each is due. */
async function saveStates(
  transaction: Transaction<ControlTables>,
  rowsOf: Store["rowsOf"],
  changed: readonly { row: HeartbeatRow; state: HeartbeatState }[],
): Promise<void> {
  if (changed.length === 0) return;
  const states = changed.map(({ row, state }) => ({
    id: row.id,
    state: JSON.stringify(state),
    dueAt: dueAt(timesOf(row), state),
  }));
  await transaction
    .with(
      "changed(id, state, dueAt)",
      () => sql<(typeof states)[number]>`(${rowsOf("heartbeats", ["id", "state", "dueAt"], states)})`,
    )
    .updateTable("heartbeats")
    .from("changed")
    .set((eb) => ({ state: eb.ref("changed.state"), dueAt: eb.ref("changed.dueAt") }))
    .whereRef("heartbeats.id", "=", "changed.id")
    .execute();
}

const pingColumns = ["heartbeatId", "kind", "exitStatus", "runMs", "body", "receivedAt"] as const;
type PingRow = Pick<Selectable<ControlTables["heartbeatPings"]>, (typeof pingColumns)[number]>;

/** Keeps pings, and of each heartbeat the newest. */
async function keepPings(
  transaction: Transaction<ControlTables>,
  rowsOf: Store["rowsOf"],
  pings: readonly (ReceivedPing & { heartbeatId: string })[],
): Promise<void> {
  if (pings.length === 0) return;
  const rows = pings.map(({ atMs, ...ping }): PingRow => ({ ...ping, receivedAt: atMs }));
  await transaction
    .insertInto("heartbeatPings")
    .columns(pingColumns)
    .expression(rowsOf("heartbeatPings", pingColumns, rows))
    .execute();
  const ids = [...new Set(pings.map(({ heartbeatId }) => heartbeatId))];
  await transaction
    .deleteFrom("heartbeatPings")
    .where("id", "in", (eb) =>
      eb
        .selectFrom(
          eb
            .selectFrom("heartbeatPings")
            .select((eb) => [
              "id",
              eb.fn
                .agg<number>("row_number")
                .over((over) => over.partitionBy("heartbeatId").orderBy("id", "desc"))
                .as("place"),
            ])
            .where("heartbeatId", "in", ids)
            .as("placed"),
        )
        .select("placed.id")
        .where("place", ">", limits.pings),
    )
    .execute();
}
