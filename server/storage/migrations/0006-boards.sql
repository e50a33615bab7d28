-- Pages of tiles that a team arranges.
CREATE TABLE boards (
  id text {{binary}} PRIMARY KEY,
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name text NOT NULL,
  -- A JSON array.
  tiles text NOT NULL,
  position integer NOT NULL,
  -- Grows with each change of the name or the tiles.
  version integer NOT NULL,
  -- SHA-256 of the public link's token, in hexadecimal.
  link_hash text {{binary}},
  link_created_at bigint,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- Deleted, but it can be restored.
  deleted_at bigint
) {{without_rowid}};
CREATE INDEX boards_project ON boards (project_id);
CREATE UNIQUE INDEX boards_link ON boards (link_hash) WHERE link_hash IS NOT NULL;

-- Values that applications set, and their history.
CREATE TABLE insights (
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  key text {{binary}} NOT NULL,
  title text NOT NULL,
  icon text,
  value double precision NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (project_id, key)
) {{without_rowid}};

CREATE TABLE insight_points (
  project_id integer NOT NULL,
  key text {{binary}} NOT NULL,
  at bigint NOT NULL,
  value double precision NOT NULL,
  PRIMARY KEY (project_id, key, at),
  FOREIGN KEY (project_id, key) REFERENCES insights (project_id, key) ON DELETE CASCADE
) {{without_rowid}};
