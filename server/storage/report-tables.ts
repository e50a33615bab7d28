/** The table of reports. */
export type ReportTables = {
  reports: {
    id: string;
    projectId: number;
    boardId: string;
    /** The member who gets it by email; null if a destination of the project gets it. */
    accountId: string | null;
    destinationId: string | null;
    /** JSON: `ReportSchedule`. */
    schedule: string;
    enabled: number;
    /** When it is sent next; null while it is off. */
    dueAt: number | null;
    /** The last delivery, which can be deleted before. */
    deliveryId: number | null;
    createdAt: number;
  };
};
