/** The tables of cohorts. */
export type CohortTables = {
  cohorts: {
    id: string;
    projectId: number;
    name: string;
    /** JSON: `CohortCondition`. */
    condition: string;
    createdAt: number;
    updatedAt: number;
    /** How many people are in it; null before they were computed. */
    people: number | null;
    /** How many IDs these people have. */
    ids: number | null;
    /** The time for which this is so; null before it was computed. */
    computedAt: number | null;
    /** Changes whenever the members do. */
    revision: string;
    tookMs: number | null;
    /** Why it could not be computed the last time. */
    failure: string | null;
    /** Since when its members are being removed. Its name is its ID with a line break then. */
    deletedAt: number | null;
    /** From when on the members are computed again, if something changed. */
    dueAt: number;
    /** The project's changes (people-changes.ts) that the members include; null if they must be computed again. */
    computedChanges: number | null;
    /** When the members may change by time alone, because events get older; null if they can't. */
    changesAt: number | null;
  };
  cohortMembers: { cohortId: string; userId: string; personId: string };
};
