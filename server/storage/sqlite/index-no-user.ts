import type { Database } from "bun:sqlite";
import type { Event } from "../../wire/event.ts";
import { tokensOf } from "../tokens.ts";
import { positionSql } from "./position.ts";

/** Indexes the events that have no user anew: those stored before migration 6 have no token that says so. */
export function indexNoUser(database: Database): void {
  // Disposed of at the end: the connection would hold the file until they are collected.
  using select = database.prepare<{ ms: number; sequence: number; projectId: number; body: string }, []>(
    `SELECT position >> 21 AS ms, position & 2097151 AS sequence, project_id AS projectId, body FROM events
       WHERE instr(body, '"userId":""') > 0 ORDER BY position`,
  );
  using remove = database.prepare(`DELETE FROM events_index WHERE rowid = ${positionSql("?1", "?2")}`);
  using insert = database.prepare(
    `INSERT INTO events_index (rowid, tokens) VALUES (${positionSql("?1", "?2")}, ?3)`,
  );
  for (const { ms, sequence, projectId, body } of select.iterate()) {
    remove.run(ms, sequence);
    insert.run(ms, sequence, tokensOf(projectId, JSON.parse(`{${body}}`) as Event));
  }
}
