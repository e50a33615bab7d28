-- Boards that are sent on a schedule.
CREATE TABLE reports (
  id text {{binary}} PRIMARY KEY,
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  board_id text {{binary}} NOT NULL REFERENCES boards (id) ON DELETE CASCADE,
  -- The member who gets it by email, or the project's destination; the other one is null.
  account_id text {{binary}},
  destination_id text {{binary}} REFERENCES destinations (id) ON DELETE CASCADE,
  -- JSON.
  schedule text NOT NULL,
  enabled integer NOT NULL,
  -- When it is sent next; null while it is off.
  due_at bigint,
  -- The last delivery, which can be deleted before.
  delivery_id bigint,
  created_at bigint NOT NULL,
  FOREIGN KEY (project_id, account_id) REFERENCES members (project_id, account_id) ON DELETE CASCADE
) {{without_rowid}};
CREATE INDEX reports_due ON reports (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX reports_project ON reports (project_id, id);
CREATE INDEX reports_board ON reports (board_id);
CREATE INDEX reports_destination ON reports (destination_id);
