-- What blocks store for analyses (storage/analysis/columns.ts): columns of the events of a project. The id is the key as in
-- block_tokens. Blocks that have none yet are built again.
CREATE TABLE block_columns (
  id INTEGER PRIMARY KEY,
  from_ms INTEGER NOT NULL,
  project_id INTEGER NOT NULL,
  name TEXT NOT NULL,
  bytes BLOB NOT NULL
);
CREATE UNIQUE INDEX block_columns_name ON block_columns (from_ms, project_id, name);
