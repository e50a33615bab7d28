-- Pages of tiles that a team arranges.
CREATE TABLE boards (
  id TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  -- A JSON array.
  tiles TEXT NOT NULL,
  position INTEGER NOT NULL,
  -- Grows with each change of the name or the tiles.
  version INTEGER NOT NULL,
  -- SHA-256 of the public link's token, in hexadecimal.
  link_hash TEXT,
  link_created_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- Deleted, but it can be restored.
  deleted_at INTEGER
) WITHOUT ROWID;
CREATE INDEX boards_project ON boards (project_id);
CREATE UNIQUE INDEX boards_link ON boards (link_hash) WHERE link_hash IS NOT NULL;

-- Values that applications set, and their history.
CREATE TABLE insights (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  title TEXT NOT NULL,
  icon TEXT,
  value REAL NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, key)
) WITHOUT ROWID;

CREATE TABLE insight_points (
  project_id INTEGER NOT NULL,
  key TEXT NOT NULL,
  at INTEGER NOT NULL,
  value REAL NOT NULL,
  PRIMARY KEY (project_id, key, at),
  FOREIGN KEY (project_id, key) REFERENCES insights (project_id, key) ON DELETE CASCADE
) WITHOUT ROWID;
