import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Sidebar } from "../../server/schemas/view.ts";
import { assignChannelColors, type ChannelColors } from "./channel-colors.ts";
import { sidebarQuery } from "./channels.ts";

/** The colors of a project's channels, the same wherever it shows them. */
export function useChannelColors(project: string): ChannelColors {
  const { data } = useQuery({ ...sidebarQuery(project), select: creationOrder });
  return useMemo(() => assignChannelColors(data ?? []), [data]);
}

/** Ids only, so that counts that change don't render anything. */
function creationOrder({ channels }: Sidebar): string[] {
  return channels
    .toSorted((a, b) => compare(a.createdAt, b.createdAt) || compare(a.id, b.id))
    .map(({ id }) => id);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
