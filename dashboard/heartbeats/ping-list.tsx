import { useQuery } from "@tanstack/react-query";
import { clsx } from "clsx";
import { limits } from "../../server/core/limits.ts";
import type { HeartbeatPing } from "../../server/schemas/heartbeat.ts";
import { formatDate } from "../components/dates.ts";
import { RelativeTime } from "../components/relative-time.tsx";
import { CodeBlock } from "../components/ui/code-block.tsx";
import { ErrorState, Skeleton } from "../components/ui/states.tsx";
import { useProjectSlug } from "../projects/current-project.ts";
import { Group, Panel } from "../settings/group.tsx";
import { pingsQuery, secondsText } from "./heartbeats.ts";

/** The last pings of a heartbeat, and what was sent with them. */
export function PingList({ id }: { id: string }) {
  const { data, error, refetch } = useQuery(pingsQuery(useProjectSlug(), id));
  return (
    <Group title="Pings" lead={`The last ${limits.pings}, newest first.`}>
      {error && !data ? (
        <ErrorState title="The pings couldn't be loaded" error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Skeleton className="h-24 rounded-lg" />
      ) : data.length === 0 ? (
        <p className="rounded-lg border border-line border-dashed py-8 text-center text-muted text-sm">
          No ping yet. The first one appears here by itself.
        </p>
      ) : (
        <Panel>
          <ul aria-label="Pings" className="divide-y divide-line">
            {data.map((ping) => (
              <Ping key={ping.id} ping={ping} />
            ))}
          </ul>
        </Panel>
      )}
    </Group>
  );
}

const kinds: Record<HeartbeatPing["kind"], [text: string, className: string]> = {
  success: ["Success", "text-good"],
  start: ["Start", "text-muted"],
  fail: ["Fail", "text-danger"],
  log: ["Log", "text-muted"],
};

function Ping({ ping: { kind, exitStatus, seconds, body, receivedAt } }: { ping: HeartbeatPing }) {
  const [text, className] = kinds[kind];
  return (
    <li className="flex flex-col gap-1.5 px-4 py-2 text-sm">
      <p className="flex flex-wrap items-baseline gap-x-3 gap-y-0.5">
        <span className={clsx("w-16 font-medium", className)}>{text}</span>
        <span className="min-w-0 flex-1 text-muted">
          {[
            ...(exitStatus === null ? [] : [`exit status ${exitStatus}`]),
            ...(seconds === null ? [] : [`took ${secondsText(seconds)}`]),
          ].join(", ")}
        </span>
        <span className="text-muted text-xs">
          <time dateTime={receivedAt} className="max-sm:hidden">
            {formatDate(receivedAt, "medium")},{" "}
          </time>
          <RelativeTime at={receivedAt} form="long" />
        </span>
      </p>
      {body !== null && (
        <details>
          <summary className="cursor-pointer text-muted text-xs">Show what was sent</summary>
          <div className="mt-2 mb-1">
            <CodeBlock label="Sent with the ping" code={body} />
          </div>
        </details>
      )}
    </li>
  );
}
