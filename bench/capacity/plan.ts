import { limits } from "../../server/core/limits.ts";
import { formatColumns } from "../table.ts";

export const ratesADay = [1_000_000, 10_000_000, 100_000_000] as const;
export const keptDays = [30, 90, 365] as const;

/** What was measured of one engine for events of 215 bytes. */
export type Measured = {
  bytesAnEvent: number;
  /** Processor time of an event that has a request of its own, in microseconds. */
  singlePostUs: number;
  /** Seconds for a million events; null if another tool makes the backups. */
  backupS: number | null;
  /** Seconds for a million events. */
  rebuildS: number;
};

/** The busiest hours have this many times the average load. */
const peakFactor = 3;
/** How much of a core may be busy with recording, so that reads and background work have the rest. */
const busyShare = 0.5;
/** What the disk holds, in databases. On SQLite, the newest backup is restored beside it each month, to check it. */
const databases = { sqlite: 1 + limits.backupCheckDatabases, postgres: 1 };
const freeShare = 0.1;

/** Calculates what a load needs, from what was measured: everything grows with the number of events. */
export function planFor(perDay: number, days: number, measured: Measured, engine: "sqlite" | "postgres") {
  const events = perDay * days;
  const databaseBytes = events * measured.bytesAnEvent;
  const perSecondAtPeak = (perDay / 86_400) * peakFactor;
  return {
    events,
    perSecondAtPeak,
    databaseBytes,
    diskBytes: (databaseBytes * databases[engine]) / (1 - freeShare),
    cores: Math.max(1, Math.ceil((perSecondAtPeak * measured.singlePostUs) / 1_000_000 / busyShare)),
    backupS: measured.backupS === null ? null : (events / 1_000_000) * measured.backupS,
    rebuildS: (events / 1_000_000) * measured.rebuildS,
  };
}

/** The plan as a table. */
export function formatPlan(measured: Measured, engine: "sqlite" | "postgres"): string {
  return formatColumns(
    ["events a day", "days", "events", "a second, at peak", "database", "disk", "cores", "backup", "rebuild"],
    ratesADay.flatMap((perDay) =>
      keptDays.map((days) => {
        const plan = planFor(perDay, days, measured, engine);
        return [
          perDay.toLocaleString("en"),
          String(days),
          `${(plan.events / 1_000_000).toLocaleString("en")} M`,
          Math.round(plan.perSecondAtPeak).toLocaleString("en"),
          bytes(plan.databaseBytes),
          bytes(plan.diskBytes),
          String(plan.cores),
          backupCell(plan.backupS),
          duration(plan.rebuildS),
        ];
      }),
    ),
  );
}

/** The schedule stops a backup that takes longer. */
function backupCell(seconds: number | null): string {
  if (seconds === null) return "–";
  return seconds > limits.backupRunHours * 3_600 ? `over ${limits.backupRunHours} h` : duration(seconds);
}

/** Two significant digits. */
function round(value: number): string {
  const digits = value >= 100 ? 10 ** (Math.floor(Math.log10(value)) - 1) : 1;
  return value < 10 ? value.toFixed(1) : (Math.round(value / digits) * digits).toLocaleString("en");
}

const bytes = (value: number) => (value >= 1e12 ? `${round(value / 1e12)} TB` : `${round(value / 1e9)} GB`);

function duration(seconds: number): string {
  if (seconds < 120) return `${round(seconds)} s`;
  if (seconds < 7_200) return `${round(seconds / 60)} min`;
  return seconds < 172_800 ? `${round(seconds / 3_600)} h` : `${round(seconds / 86_400)} days`;
}
