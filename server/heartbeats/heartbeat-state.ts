/**
 * When a heartbeat is up and when it is down, as pure functions. All moments are in milliseconds since 1970.
 *
 * A success is followed by the next one within the schedule's time and its grace. The start of a run counts as well, if
 * none was in progress: then the run may take until the next ping is due. So a run that never ends is noticed, also if
 * there is no limit to its time, and starts alone don't keep a heartbeat up.
 */
import { limits } from "../core/limits.ts";
import type { DownReason, Heartbeat, HeartbeatStateName, PingKind } from "../schemas/heartbeat.ts";
import { minuteMs, nextDueMs } from "./schedule.ts";

/** What decides when a heartbeat is down. */
export type HeartbeatTimes = Pick<Heartbeat, "schedule" | "graceMinutes" | "maxMinutes" | "enabled">;

/** `rid` pairs the start of a run with its end, where runs overlap (https://healthchecks.io/docs/http_api/). */
export type Ping = { kind: PingKind; rid: string | null };

/** A run in progress. One that took too long was a reason to be down, and isn't again. */
type Run = { rid: string | null; startedMs: number; isTooLong: boolean };

/**
 * JSON of limited size. The next ping is due by the schedule after `sinceMs`, which is null before the first ping.
 * `notBeforeMs` delays being down after the server itself was. `clockMs` is the latest moment that it knows of.
 */
export type HeartbeatState = {
  clockMs: number;
  pingedMs: number | null;
  sinceMs: number | null;
  /** The last success. */
  successMs: number | null;
  runs: Run[];
  /** How long the last run took that has ended. */
  runMs: number | null;
  down: { sinceMs: number; reason: DownReason } | null;
  notBeforeMs: number | null;
};

/** A change between up and down. `atMs` is when it was due, even if it was noticed later. */
export type StateChange =
  | { type: "down"; reason: "late"; atMs: number; expectedMs: number; pingedMs: number | null }
  | { type: "down"; reason: "running too long"; atMs: number; startedMs: number }
  | { type: "down"; reason: "failed"; atMs: number }
  | { type: "up"; atMs: number; downMs: number };

/** How far behind `clockMs` a moment may be before the clock was set back: nodes' clocks differ a little. */
const clockDifferenceMs = 60_000;
/** After a start of the server, what became due meanwhile waits this long: clients that retry may still ping. */
const downtimeGraceMs = 5 * minuteMs;

/** The state of a heartbeat that was never pinged. */
export function startState(nowMs: number): HeartbeatState {
  return {
    clockMs: nowMs,
    pingedMs: null,
    sinceMs: null,
    successMs: null,
    runs: [],
    runMs: null,
    down: null,
    notBeforeMs: null,
  };
}

/** When `onTime` has something to do; null as long as that takes a ping. */
export function dueAt(times: HeartbeatTimes, state: HeartbeatState): number | null {
  const next = deadlineOf(times, state);
  return next === null ? null : Math.max(next.atMs, state.notBeforeMs ?? 0);
}

/** When the next ping is expected, without grace; null if none is. */
export function expectedAt(times: HeartbeatTimes, { sinceMs, down }: HeartbeatState): number | null {
  if (!times.enabled || down !== null || sinceMs === null) return null;
  const atMs = nextDueMs(times.schedule, sinceMs);
  return atMs === Number.POSITIVE_INFINITY ? null : atMs;
}

/** The start of the run in progress: the newest one that isn't known to take too long. */
export function runningSince({ runs }: HeartbeatState): number | null {
  return runs.findLast(({ isTooLong }) => !isTooLong)?.startedMs ?? null;
}

export function stateOf(times: HeartbeatTimes, state: HeartbeatState, nowMs: number): HeartbeatStateName {
  if (!times.enabled) return "paused";
  if (state.down) return "down";
  if (state.sinceMs === null) return "new";
  const expectedMs = expectedAt(times, state);
  if (expectedMs !== null && nowMs >= expectedMs) return "late";
  return runningSince(state) === null ? "up" : "started";
}

/** Is down if that is due. Returns the same state if nothing changes. */
export function onTime(
  times: HeartbeatTimes,
  before: HeartbeatState,
  clockNowMs: number,
): { state: HeartbeatState; changes: StateChange[] } {
  const { state, nowMs } = withoutClockJump(before, clockNowMs);
  const next = deadlineOf(times, state);
  if (next === null || nowMs < next.atMs || nowMs < (state.notBeforeMs ?? 0)) return { state, changes: [] };
  const down = { sinceMs: next.atMs, reason: next.reason };
  const runs =
    next.reason === "late"
      ? state.runs
      : state.runs.map((run) => (run.startedMs === next.startedMs ? { ...run, isTooLong: true } : run));
  return { state: { ...state, clockMs: nowMs, runs, down, notBeforeMs: null }, changes: [next] };
}

/** Takes in a ping, after what was due before it. `runMs` is how long the run took that it ends. */
export function onPing(
  times: HeartbeatTimes,
  before: HeartbeatState,
  ping: Ping,
  clockNowMs: number,
): { state: HeartbeatState; changes: StateChange[]; runMs: number | null } {
  const due = onTime(times, before, clockNowMs);
  const nowMs = Math.max(due.state.clockMs, clockNowMs);
  const state = { ...due.state, clockMs: nowMs, pingedMs: nowMs };
  if (ping.kind === "log") return { state, changes: due.changes, runMs: null };
  if (ping.kind === "start") return { state: started(state, ping, nowMs), changes: due.changes, runMs: null };
  const ended = state.runs.find(({ rid }) => rid === ping.rid);
  const runMs = ended ? nowMs - ended.startedMs : null;
  const after = {
    ...state,
    runs: state.runs.filter((run) => run !== ended),
    runMs: runMs ?? state.runMs,
  };
  const { state: next, changes } =
    ping.kind === "fail" ? failed(times, after, nowMs) : succeeded(times, after, nowMs);
  return { state: next, changes: [...due.changes, ...changes], runMs };
}

/** The state after a change of what decides when it is down. A heartbeat that is resumed begins anew. */
export function afterChange(
  before: HeartbeatTimes,
  after: HeartbeatTimes,
  state: HeartbeatState,
  nowMs: number,
): HeartbeatState {
  const isResumed = after.enabled && !before.enabled;
  const isOther = JSON.stringify(before.schedule) !== JSON.stringify(after.schedule);
  const sinceMs = state.sinceMs === null ? null : nowMs;
  if (isResumed) return { ...state, clockMs: nowMs, sinceMs, runs: [], down: null, notBeforeMs: null };
  return isOther && !state.down ? { ...state, clockMs: nowMs, sinceMs } : state;
}

/** The state when the server starts after it was down. Returns the same state if nothing changes. */
export function afterDowntime(times: HeartbeatTimes, state: HeartbeatState, nowMs: number): HeartbeatState {
  const atMs = deadlineOf(times, state)?.atMs;
  if (atMs === undefined || atMs > nowMs) return state;
  return { ...state, notBeforeMs: nowMs + downtimeGraceMs };
}

/** The first change that comes without a ping. */
function deadlineOf(
  times: HeartbeatTimes,
  state: HeartbeatState,
): Exclude<StateChange, { type: "up" } | { reason: "failed" }> | null {
  if (!times.enabled || state.down) return null;
  const { pingedMs } = state;
  const expectedMs = expectedAt(times, state);
  const lateMs = expectedMs === null ? null : expectedMs + times.graceMinutes * minuteMs;
  const run = state.runs.find(({ isTooLong }) => !isTooLong);
  const tooLongMs =
    run === undefined || times.maxMinutes === null ? null : run.startedMs + times.maxMinutes * minuteMs;
  if (tooLongMs !== null && (lateMs === null || tooLongMs <= lateMs))
    return { type: "down", reason: "running too long", atMs: tooLongMs, startedMs: run!.startedMs };
  if (lateMs === null) return null;
  return { type: "down", reason: "late", atMs: lateMs, expectedMs: expectedMs!, pingedMs };
}

function started(state: HeartbeatState, { rid }: Ping, nowMs: number): HeartbeatState {
  // Without a `rid`, a second start means that the first run ended without a word.
  const others = state.runs.filter((run) => run.rid !== rid);
  const runs = [...others, { rid, startedMs: nowMs, isTooLong: false }].slice(-limits.heartbeatRuns);
  const isFirst = state.runs.every(({ isTooLong }) => isTooLong);
  return { ...state, runs, ...(isFirst && { sinceMs: nowMs, notBeforeMs: null }) };
}

function succeeded(
  { enabled, maxMinutes }: HeartbeatTimes,
  state: HeartbeatState,
  nowMs: number,
): { state: HeartbeatState; changes: StateChange[] } {
  const { successMs, down } = state;
  // Without a limit to its time, a run that began before the last success, and hasn't ended, has died.
  const runs = state.runs.filter(({ startedMs }) => maxMinutes !== null || startedMs >= (successMs ?? 0));
  const next = { ...state, runs, sinceMs: nowMs, successMs: nowMs, notBeforeMs: null };
  if (!enabled || down === null) return { state: next, changes: [] };
  // A run that became too long meanwhile was part of being down.
  const isOver = ({ startedMs }: Run) => maxMinutes !== null && startedMs + maxMinutes * minuteMs <= nowMs;
  return {
    state: {
      ...next,
      runs: runs.map((run) => (isOver(run) ? { ...run, isTooLong: true } : run)),
      down: null,
    },
    changes: [{ type: "up", atMs: nowMs, downMs: nowMs - down.sinceMs }],
  };
}

function failed(
  { enabled }: HeartbeatTimes,
  state: HeartbeatState,
  nowMs: number,
): { state: HeartbeatState; changes: StateChange[] } {
  const next = { ...state, sinceMs: state.sinceMs ?? nowMs, notBeforeMs: null };
  if (!enabled || state.down) return { state: next, changes: [] };
  const reason = "failed";
  return {
    state: { ...next, down: { sinceMs: nowMs, reason } },
    changes: [{ type: "down", reason, atMs: nowMs }],
  };
}

/** A time that isn't before the state's clock. If the clock was set back, what is later goes with it. */
function withoutClockJump(state: HeartbeatState, nowMs: number): { state: HeartbeatState; nowMs: number } {
  if (state.clockMs - nowMs <= clockDifferenceMs) return { state, nowMs: Math.max(state.clockMs, nowMs) };
  const back = <Ms extends number | null>(ms: Ms) => (ms === null ? ms : (Math.min(ms, nowMs) as Ms));
  return {
    nowMs,
    state: {
      ...state,
      clockMs: nowMs,
      pingedMs: back(state.pingedMs),
      sinceMs: back(state.sinceMs),
      successMs: back(state.successMs),
      runs: state.runs.map((run) => ({ ...run, startedMs: back(run.startedMs) })),
      down: state.down && { ...state.down, sinceMs: back(state.down.sinceMs) },
      notBeforeMs: null,
    },
  };
}
