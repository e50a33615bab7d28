import { queryOptions } from "@tanstack/react-query";
import type { FormField, ProjectDestination } from "../../server/schemas/destination.ts";
import { api } from "../api.ts";

export type DestinationKind = { kind: string; label: string; fields: FormField[] };

export function projectDestinationsQuery(project: string) {
  return queryOptions({
    queryKey: ["project-destinations", project],
    queryFn: async () =>
      (
        await api<{ ok: true; destinations: ProjectDestination[] }>("/api/project-destinations", {
          query: { project },
        })
      ).destinations,
  });
}

export function destinationKindsQuery(project: string) {
  return queryOptions({
    queryKey: ["destination-kinds", project],
    queryFn: async () =>
      (await api<{ ok: true; kinds: DestinationKind[] }>("/api/destination-kinds", { query: { project } }))
        .kinds,
    // They change only with the server.
    staleTime: Number.POSITIVE_INFINITY,
  });
}

/** The purpose of each kind, in a few words. */
export const kindHints: Record<string, string> = {
  webhook: "Signed requests to your own server",
  slack: "Messages in a Slack channel",
  discord: "Messages in a Discord channel",
  telegram: "A bot's messages in a chat or group",
  teams: "Cards in a Teams channel",
  ntfy: "Push notifications for a topic",
  gotify: "Push from your own Gotify server",
  pushover: "Push to phones and desktops",
  matrix: "Messages in a Matrix room",
  apprise: "Many other services, by your own server",
};
