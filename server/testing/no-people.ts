import type { Sources } from "../storage/analysis/scan.ts";

/** Sources of analyses in a project whose users have no other IDs, no properties and no groups. */
export const noPeople: Omit<Sources, "scan"> = {
  readPeople: async () => null,
  readProperty: async () => {},
  readGroups: { members: async () => {}, property: async () => {} },
};
