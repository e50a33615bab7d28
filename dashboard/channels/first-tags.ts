import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { channelsQuery } from "./channels.ts";

const none: readonly string[] = [];

/** The tags that each channel shows first, by its settings. Without settings, none: they are shown as they were sent. */
export function useFirstTags(project: string): (channel: string) => readonly string[] {
  const { data: channels } = useQuery(channelsQuery(project));
  return useMemo(() => {
    const chosen = new Map(channels?.map(({ id, firstTags }) => [id, firstTags]));
    return (channel) => chosen.get(channel) ?? none;
  }, [channels]);
}
