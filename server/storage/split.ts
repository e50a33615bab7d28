/** A dimension to group events by. */
export type Split = { by: "channel" } | { by: "name" } | { by: "tag"; key: string };
