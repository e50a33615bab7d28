/** What events are grouped by. */
export type Split = { by: "channel" } | { by: "name" } | { by: "tag"; key: string };
