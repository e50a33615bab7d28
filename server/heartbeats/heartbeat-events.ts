import type { z } from "@hono/zod-openapi";
import { limits } from "../core/limits.ts";
import type { NewEvent } from "../event/event.ts";
import type { PingKind } from "../schemas/heartbeat.ts";
import type { StateChange } from "./heartbeat-state.ts";
import { minuteMs } from "./schedule.ts";

type Event = z.input<typeof NewEvent>;
type Named = { name: string; slug: string; channel: string; graceMinutes: number; maxMinutes: number | null };

/** A ping as it was received. Times are in milliseconds since 1970. */
export type ReceivedPing = {
  kind: PingKind;
  exitStatus: number | null;
  /** How long the run took that it ended; null if its start isn't known. */
  runMs: number | null;
  body: string | null;
  atMs: number;
};

const icons: Record<PingKind, string> = { success: "✅", start: "▶️", fail: "❌", log: "📝" };

/** The event of a ping, such as "Nightly backup: success". It has an id, so that it is recorded once. */
export function pingEvent({ name, slug, channel }: Named, ping: ReceivedPing): Event {
  const { kind, exitStatus, runMs, body, atMs } = ping;
  return {
    id: Bun.randomUUIDv7(),
    channel,
    name: `${name}: ${kind}`,
    icon: icons[kind],
    tags: {
      heartbeat: slug,
      ping: kind,
      ...(exitStatus !== null && { exitStatus: String(exitStatus) }),
      ...(runMs !== null && { seconds: String(runMs / 1_000) }),
    },
    ...(body !== null && body.trim() !== "" && { description: codeBlock(body) }),
    createdAt: atMs,
  };
}

/**
 * The event of a change of state, such as "Nightly backup is down", which notifies. It is dated when it is recorded:
 * one that was due long ago, while the server was down, would notify nobody.
 */
export function changeEvent(heartbeat: Named, change: StateChange, ping?: ReceivedPing): Event {
  const { name, slug, channel } = heartbeat;
  const isDown = change.type === "down";
  return {
    id: Bun.randomUUIDv7(),
    channel,
    name: isDown ? `${name} is down` : `${name} is up again`,
    icon: isDown ? "🔴" : "🟢",
    notify: true,
    tags: {
      heartbeat: slug,
      state: change.type,
      ...(isDown ? { reason: change.reason } : { downSeconds: String(Math.round(change.downMs / 1_000)) }),
    },
    description: descriptionOf(heartbeat, change, ping),
  };
}

function descriptionOf(
  { graceMinutes, maxMinutes }: Named,
  change: StateChange,
  ping: ReceivedPing | undefined,
): string {
  if (change.type === "up") return `It was down for ${spanText(change.downMs)}.`;
  switch (change.reason) {
    case "late": {
      const grace = graceMinutes === 0 ? "" : `, with a grace of ${spanText(graceMinutes * minuteMs)}`;
      const last = change.pingedMs === null ? "" : ` The last ping came at ${timeText(change.pingedMs)}.`;
      return `A ping was due at ${timeText(change.expectedMs)}${grace}.${last}`;
    }
    case "running too long":
      return `The run that started at ${timeText(change.startedMs)} has not ended within ${spanText((maxMinutes ?? 0) * minuteMs)}.`;
    case "failed": {
      const status = ping?.exitStatus ?? null;
      const said = status === null ? "It said that it failed." : `Its exit status was ${status}.`;
      return ping?.body ? `${said}\n\n${codeBlock(ping.body, said.length + 2)}` : said;
    }
  }
}

/** A text as it is, not as Markdown, cut to what a description may have besides so many other characters. */
function codeBlock(text: string, others = 0): string {
  const longest = Math.max(2, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(Math.min(longest + 1, 200));
  const rest = limits.descriptionCharacters - others - 2 * (fence.length + 1);
  return `${fence}\n${[...text].slice(0, rest).join("").trimEnd()}\n${fence}`;
}

function timeText(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

/** A length of time in its two largest units: `3 h 5 min`. */
function spanText(ms: number): string {
  const units = [
    ["d", Math.floor(ms / 86_400_000)],
    ["h", Math.floor(ms / 3_600_000) % 24],
    ["min", Math.floor(ms / 60_000) % 60],
    ["s", Math.floor(ms / 1_000) % 60],
  ] as const;
  const first = units.findIndex(([, count]) => count > 0);
  if (first < 0) return "less than a second";
  return units
    .slice(first, first + 2)
    .filter(([, count]) => count > 0)
    .map(([unit, count]) => `${count} ${unit}`)
    .join(" ");
}
