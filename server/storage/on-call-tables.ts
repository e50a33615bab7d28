/** The tables of on-call schedules. */
export type OnCallTables = {
  onCallSchedules: {
    id: string;
    projectId: number;
    name: string;
    timeZone: string;
    /** JSON. */
    rotations: string;
    notify: number;
    /** The account that was on call when this was last looked at. */
    onCallId: string | null;
    /** When to look next who is on call; null if nobody is told. */
    dueAt: number | null;
    createdAt: number;
  };
  onCallOverrides: {
    id: string;
    scheduleId: string;
    accountId: string;
    fromAt: number;
    toAt: number;
    /** Name of the account, key or command. */
    madeBy: string | null;
    createdAt: number;
  };
};
