import { useQuery } from "@tanstack/react-query";
import { Check, Plus } from "lucide-react";
import { useState } from "react";
import type { Destination } from "../../server/schemas/account-destination.ts";
import type { Level, NotificationLevel } from "../../server/schemas/preferences.ts";
import { useMe } from "../account/me.ts";
import { channelsQuery } from "../channels/channels.ts";
import { shortName, useChangeLevel } from "../notifications/preferences.ts";
import { useProjectSlug } from "../projects/current-project.ts";
import { Panel } from "./group.tsx";

type Props = { destinations: Destination[]; levels: NotificationLevel[] };

const names: Record<Level, string> = { all: "All events", matters: "What matters", none: "Nothing" };

/** The level of each destination for the project, and for channels with another level. */
export function LevelList({ destinations, levels }: Props) {
  const { projects } = useMe();
  const current = useProjectSlug();
  const [project, setProject] = useState(current);
  const { data: channels = [] } = useQuery(channelsQuery(project));
  const [added, setAdded] = useState<string[]>([]);
  const own = levels.filter((each) => each.project === project);
  const listed = [...new Set([...own.flatMap(({ channel }) => channel ?? []), ...added])].sort();
  const others = channels.filter(({ id }) => !listed.includes(id));
  return (
    <div className="mt-2 flex flex-col gap-2">
      <div className="flex items-center justify-between gap-4">
        <h3 className="font-medium text-muted text-sm">What you receive</h3>
        {projects.length > 1 && (
          <select
            aria-label="Project"
            value={project}
            onChange={(event) => {
              setProject(event.target.value);
              setAdded([]);
            }}
            className="h-8 min-w-0 max-w-60 rounded-md border border-line-strong bg-raised pr-7 pl-2.5 text-sm max-md:h-11"
          >
            {projects.map(({ slug, name }) => (
              <option key={slug} value={slug}>
                {name}
              </option>
            ))}
          </select>
        )}
      </div>
      <Panel>
        {[null, ...listed].map((channel) => (
          <Row
            key={`${project} ${channel ?? ""}`}
            project={project}
            channel={channel}
            destinations={destinations}
            levels={own}
          />
        ))}
        {others.length > 0 && (
          <div className="flex items-center gap-2 px-4 py-2">
            <Plus aria-hidden className="size-4 shrink-0 text-faint" />
            <select
              aria-label="Choose for a channel"
              value=""
              onChange={(event) => setAdded([...added, event.target.value])}
              className="h-8 min-w-0 flex-1 rounded-md bg-transparent pr-7 text-muted text-sm hover:text-ink max-md:h-11"
            >
              <option value="">Choose for a channel…</option>
              {others.map(({ id }) => (
                <option key={id}>{id}</option>
              ))}
            </select>
          </div>
        )}
      </Panel>
      <p className="text-muted text-xs">
        “What matters” is every event that a project rule matches, such as those sent with{" "}
        <code className="font-mono">notify</code>.
      </p>
    </div>
  );
}

type RowProps = Props & { project: string; channel: string | null };

function Row({ project, channel, destinations, levels }: RowProps) {
  const change = useChangeLevel();
  const levelOf = (destination: string) => {
    const level = levels.find((each) => each.destination === destination && each.channel === channel)?.level;
    return channel === null && level === "matters" ? undefined : level;
  };
  const choices: Level[] = channel === null ? ["all", "none"] : ["all", "matters", "none"];
  const where = channel ?? "All channels";
  return (
    <div className="flex flex-col gap-2 px-4 py-3">
      <p className="flex items-center gap-2 font-medium">
        <span className="hostile">{where}</span>
        <span role="status" className="flex items-center gap-1 font-normal text-good text-xs">
          {change.isSuccess && (
            <>
              <Check aria-hidden className="size-3.5" />
              Saved
            </>
          )}
        </span>
      </p>
      <div className="grid grid-cols-[repeat(auto-fill,minmax(150px,1fr))] gap-x-3 gap-y-2">
        {destinations.map((destination) => {
          const { id } = destination;
          return (
            <label key={id} className="flex min-w-0 flex-col gap-1 text-muted text-xs">
              <span className="hostile-line">{shortName(destination)}</span>
              <select
                aria-label={`${where}: ${shortName(destination)}`}
                value={levelOf(id) ?? ""}
                disabled={change.isPending}
                onChange={(event) =>
                  change.mutate({
                    project,
                    channel,
                    destination: id,
                    level: event.target.value === "" ? null : (event.target.value as Level),
                  })
                }
                className="h-8 min-w-0 rounded-md border border-line-strong bg-raised pl-2.5 text-ink text-sm max-md:h-11"
              >
                <option value="">{channel === null ? names.matters : "As all channels"}</option>
                {choices.map((level) => (
                  <option key={level} value={level}>
                    {names[level]}
                  </option>
                ))}
              </select>
            </label>
          );
        })}
      </div>
    </div>
  );
}
