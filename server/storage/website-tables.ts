/** The tables of websites. */
export type WebsiteTables = {
  /** Secrets, each deleted after its day. */
  websiteSalts: { day: string; salt: string };
  /** Visits that may go on. */
  websiteVisits: {
    projectId: number;
    visitor: string;
    session: string;
    /** ID of the event with which it was entered: its first view of a page. */
    entryId: string | null;
    seenAt: number;
  };
  /** Projects that have got the board of a website, which may be deleted since. */
  websiteBoards: { projectId: number; createdAt: number };
};
