/** The tables of groups of users, and of notes about users. */
export type GroupTables = {
  /** A type exists as long as groups of it do. */
  userGroupTypes: { projectId: number; type: string; groupCount: number; createdAt: number };
  userGroups: {
    projectId: number;
    type: string;
    groupId: string;
    /** JSON: `UserProperties`. */
    properties: string;
    /** How many IDs are members. */
    memberCount: number;
    /** Changes whenever the members do. */
    revision: string;
    createdAt: number;
    updatedAt: number;
  };
  /** Members by the IDs that were named. */
  userGroupMembers: { projectId: number; type: string; groupId: string; userId: string; addedAt: number };
  userNotes: {
    id: string;
    projectId: number;
    /** The main ID at the time of writing. */
    userId: string;
    body: string;
    /** Null if the account was deleted. */
    authorId: string | null;
    createdAt: number;
    updatedAt: number;
  };
};
