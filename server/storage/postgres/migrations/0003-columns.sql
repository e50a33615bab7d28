-- What blocks store for analyses (storage/analysis/columns.ts): columns of the events. They go with their block. Blocks that
-- have none yet are built again.
CREATE TABLE block_columns (
  block bigint NOT NULL REFERENCES blocks (id) ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  bytes bytea NOT NULL,
  PRIMARY KEY (block, name)
) WITH (toast_tuple_target = 8160);

-- They are compressed already, and a row is read in one piece.
ALTER TABLE block_columns ALTER COLUMN bytes SET STORAGE EXTERNAL;
