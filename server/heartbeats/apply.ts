import type { Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { changeEvent, pingEvent, type ReceivedPing } from "./heartbeat-events.ts";
import {
  dueAt,
  type HeartbeatState,
  onPing,
  onTime,
  type Ping,
  type StateChange,
} from "./heartbeat-state.ts";
import { type HeartbeatRow, timesOf } from "./heartbeats.ts";

type Control = Transaction<ControlTables>;

/** Reads a heartbeat for a change of its state, which then waits for other nodes; undefined if it is gone. */
export async function lockHeartbeat(transaction: Control, id: string): Promise<HeartbeatRow | undefined> {
  await transaction
    .updateTable("heartbeats")
    .set((eb) => ({ dueAt: eb.ref("dueAt") }))
    .where("id", "=", id)
    .execute();
  return transaction.selectFrom("heartbeats").selectAll().where("id", "=", id).executeTakeFirst();
}

/** Takes in a ping: keeps it, changes the state, and stores the events that follow from it. */
export async function applyPing(
  transaction: Control,
  row: HeartbeatRow,
  ping: Ping & Pick<ReceivedPing, "exitStatus" | "body">,
  nowMs: number,
): Promise<void> {
  const { kind, exitStatus, body } = ping;
  const { state, changes, runMs } = onPing(timesOf(row), stateIn(row), ping, nowMs);
  const received = { kind, exitStatus, runMs, body, atMs: nowMs };
  await saveState(transaction, row, state);
  await transaction
    .insertInto("heartbeatPings")
    .values({ heartbeatId: row.id, kind, exitStatus, runMs, body, receivedAt: nowMs })
    .execute();
  await transaction
    .deleteFrom("heartbeatPings")
    .where("heartbeatId", "=", row.id)
    .where("id", "<=", (eb) =>
      eb
        .selectFrom("heartbeatPings")
        .select("id")
        .where("heartbeatId", "=", row.id)
        .orderBy("id", "desc")
        .offset(limits.pings)
        .limit(1),
    )
    .execute();
  // What was due before the ping happened before it.
  const isOfPing = (change: StateChange) => change.type === "up" || change.reason === "failed";
  await storeEvents(transaction, row.projectId, [
    ...changes.filter((change) => !isOfPing(change)).map((change) => changeEvent(row, change)),
    pingEvent(row, received),
    ...changes.filter(isOfPing).map((change) => changeEvent(row, change, received)),
  ]);
}

/** Lets time pass: the heartbeat is down if that is due. */
export async function applyTime(transaction: Control, row: HeartbeatRow, nowMs: number): Promise<void> {
  const before = stateIn(row);
  const { state, changes } = onTime(timesOf(row), before, nowMs);
  // A time zone's rules may have changed since the row was written: then it is due at another time.
  if (state === before && dueAt(timesOf(row), state) === row.dueAt) return;
  await saveState(transaction, row, state);
  await storeEvents(
    transaction,
    row.projectId,
    changes.map((change) => changeEvent(row, change)),
  );
}

/** Saves the state, and when it is due. */
export async function saveState(
  transaction: Control,
  row: HeartbeatRow,
  state: HeartbeatState,
): Promise<void> {
  await transaction
    .updateTable("heartbeats")
    .set({ state: JSON.stringify(state), dueAt: dueAt(timesOf(row), state) })
    .where("id", "=", row.id)
    .execute();
}

export function stateIn(row: Pick<HeartbeatRow, "state">): HeartbeatState {
  return JSON.parse(row.state) as HeartbeatState;
}

async function storeEvents(transaction: Control, projectId: number, events: object[]): Promise<void> {
  for (const event of events)
    await transaction
      .insertInto("heartbeatEvents")
      .values({ projectId, event: JSON.stringify(event) })
      .execute();
}
