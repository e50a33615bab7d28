import { Link } from "@tanstack/react-router";
import { countOf } from "../components/counts.ts";
import { formatNumber } from "../components/locale.ts";
import { sizeOf } from "../components/size.ts";
import type { Import } from "./imports.ts";

const titles: Record<Import["state"], string> = {
  running: "Importing…",
  done: "Import finished",
  stopped: "Import stopped",
  failed: "Import failed",
};

export const titleOf = ({ state }: Import): string => titles[state];

/** The progress of an import: a bar, and how many events were recorded, existed before, or were rejected. */
export function ImportProgress({ current, onLeave }: { current: Import; onLeave?: () => void }) {
  const { state, fileName, fileBytes, readBytes, failure, project, rejected } = current;
  const share = state === "done" || fileBytes === 0 ? 1 : readBytes / fileBytes;
  const percent = state === "running" ? Math.min(99, Math.floor(share * 100)) : Math.floor(share * 100);
  return (
    <div className="flex flex-col gap-2">
      <div
        role="progressbar"
        aria-label={`Import of ${fileName}`}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        className="h-1.5 overflow-hidden rounded-full bg-pressed"
      >
        <div
          className={`h-full origin-left rounded-full transition-transform duration-300 ${state === "failed" ? "bg-danger" : "bg-accent"}`}
          style={{ transform: `scaleX(${share})` }}
        />
      </div>
      <p className="flex justify-between gap-3 text-muted text-xs">
        <span className="hostile-line">{fileName}</span>
        <span className="shrink-0 tabular-nums">
          {percent}% of {sizeOf(fileBytes)}
        </span>
      </p>
      <div role="status">
        <dl className="grid grid-cols-3 gap-x-3 text-sm">
          <Count label="Recorded" value={current.recorded} />
          <Count label="Already there" value={current.duplicates} />
          <Count label="Rejected" value={rejected} isBad={rejected > 0} />
        </dl>
      </div>
      {current.users > 0 && (
        <p className="text-muted text-xs">Properties of {countOf(current.users, "user")} were set.</p>
      )}
      {failure && (
        <p role="alert" className="hostile text-danger text-sm">
          {failure}
        </p>
      )}
      {(state === "stopped" || state === "failed") && (
        <p className="text-muted text-xs">
          Import the same file again to continue: nothing is recorded twice.
        </p>
      )}
      {rejected > 0 && state !== "running" && (
        <Link
          to="/p/$project/rejected"
          params={{ project }}
          {...(onLeave && { onClick: onLeave })}
          className="w-fit text-accent text-sm hover:underline"
        >
          Fix rejected events
        </Link>
      )}
    </div>
  );
}

function Count({ label, value, isBad = false }: { label: string; value: number; isBad?: boolean }) {
  return (
    <div>
      <dt className="text-faint text-xs">{label}</dt>
      <dd className={`font-medium tabular-nums ${isBad ? "text-danger" : ""}`}>{formatNumber(value)}</dd>
    </div>
  );
}
