import type { SalvagedRow } from "./rows.ts";

type Line = { projectId: number; text: string };

/** A row as `export --all` writes it; null for one that isn't written. */
export function lineOf(row: SalvagedRow): Line | null {
  switch (row.kind) {
    case "event":
      return { projectId: row.projectId, text: row.json };
    case "user": {
      const { projectId, userId, properties, isKnown } = row;
      return lineOfUser(projectId, { userId, properties, ...(isKnown && { known: true }) });
    }
    case "joined": {
      const { projectId, userId, personId } = row;
      // An ID that was split off is a user of its own, like one that was never joined.
      if (personId === userId) return null;
      return lineOfUser(projectId, { userId: personId, properties: {}, ids: [userId] });
    }
    default:
      return null;
  }
}

function lineOfUser(projectId: number, user: object): Line {
  return { projectId, text: JSON.stringify({ type: "user", ...user }) };
}
