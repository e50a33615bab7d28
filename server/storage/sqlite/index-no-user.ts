import type { Database } from "bun:sqlite";
import type { Event } from "../../wire/event.ts";
import { tokensOf } from "../tokens.ts";
import { positionSql } from "./position.ts";

/** Indexes the events that have no user anew: those stored before migration 6 have no token that says so. */
export function indexNoUser(database: Database): void {
  const rows = database
    .query<{ ms: number; sequence: number; projectId: number; body: string }, []>(
      `SELECT position >> 21 AS ms, position & 2097151 AS sequence, project_id AS projectId, body FROM events
       WHERE instr(body, '"userId":""') > 0 ORDER BY position`,
    )
    .iterate();
  const remove = database.prepare(`DELETE FROM events_index WHERE rowid = ${positionSql("?1", "?2")}`);
  const insert = database.prepare(
    `INSERT INTO events_index (rowid, tokens) VALUES (${positionSql("?1", "?2")}, ?3)`,
  );
  for (const { ms, sequence, projectId, body } of rows) {
    remove.run(ms, sequence);
    insert.run(ms, sequence, tokensOf(projectId, JSON.parse(`{${body}}`) as Event));
  }
}
