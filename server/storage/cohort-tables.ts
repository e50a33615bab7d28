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
    /** Since when its members are being removed. It has its ID as a name then. */
    deletedAt: number | null;
    /** When the members are computed next. */
    dueAt: number;
  };
  cohortMembers: { cohortId: string; userId: string; personId: string };
};
