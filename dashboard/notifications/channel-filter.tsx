import { useQuery } from "@tanstack/react-query";
import type { NotificationFilter } from "../../server/schemas/notification.ts";
import { channelsQuery } from "../channels/channels.ts";
import { useProjectSlug } from "../projects/current-project.ts";

type Props = { filter: NotificationFilter; change: (filter: NotificationFilter) => void };

/** Narrows notifications to a channel of the current project. */
export function ChannelFilter({ filter, change }: Props) {
  const project = useProjectSlug();
  const { data: channels = [] } = useQuery(channelsQuery(project));
  return (
    <select
      aria-label="Channel"
      value={filter.channel ?? ""}
      onChange={({ target }) => change(target.value === "" ? {} : { project, channel: target.value })}
      className="h-8 min-w-0 max-w-36 shrink rounded-md border border-line-strong bg-raised pl-2.5 text-muted text-sm max-md:h-10"
    >
      <option value="">All channels</option>
      {channels.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}
