-- Marks on charts over time: the events of a search, or notes that members write.
CREATE TABLE annotations (
  id text {{binary}} PRIMARY KEY,
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  -- `events` or `note`.
  type text NOT NULL,
  name text NOT NULL,
  icon text,
  -- A place in the charts' palette, from 1 on.
  color integer NOT NULL,
  -- Of events: their search, and whether they are drawn. Null for a note.
  q text,
  enabled integer,
  -- Of a note: its moment, or where its day begins in UTC. Null for events.
  at bigint,
  is_day integer,
  -- The board that shows the note; null: all charts of the project.
  board_id text {{binary}} REFERENCES boards (id) ON DELETE CASCADE,
  created_by text,
  created_at bigint NOT NULL
) {{without_rowid}};
CREATE INDEX annotations_project ON annotations (project_id, type, at);
CREATE INDEX annotations_board ON annotations (board_id);
