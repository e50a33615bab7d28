import { apprise } from "./apprise.ts";
import { discord } from "./discord.ts";
import { gotify } from "./gotify.ts";
import type { DestinationKind } from "./kind.ts";
import { matrix } from "./matrix.ts";
import { ntfy } from "./ntfy.ts";
import { pushover } from "./pushover.ts";
import { slack } from "./slack.ts";
import { teams } from "./teams.ts";
import { telegram } from "./telegram.ts";
import { webhook } from "./webhook.ts";

/** The kinds of destinations that a project can have, in the order in which people are offered them. */
export const projectKinds: readonly DestinationKind[] = [
  webhook,
  slack,
  discord,
  telegram,
  teams,
  ntfy,
  gotify,
  pushover,
  matrix,
  apprise,
];

/** How messages are sent, by the kind of destination. One that isn't configured is missing. */
export type DestinationKinds = ReadonlyMap<string, DestinationKind>;

export function destinationKinds(ofAccounts: readonly DestinationKind[] = []): DestinationKinds {
  return new Map([...projectKinds, ...ofAccounts].map((kind) => [kind.kind, kind]));
}

const kindsInOrder = new Set<string>(
  projectKinds.flatMap(({ kind, isInOrder }) => (isInOrder ? [kind] : [])),
);

/** Whether messages to destinations of a kind are sent one at a time, in order. */
export function isInOrder(kind: string): boolean {
  return kindsInOrder.has(kind);
}
