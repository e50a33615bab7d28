-- Deliveries refer to nothing: each reference is a look at another table for each of the rows that a notifying event makes, and the one
-- to destinations needs an index that costs more than all the rest of a row. They go with their event, or by their age.
CREATE TABLE deliveries_anew (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL,
  event_id TEXT NOT NULL,
  account_id TEXT NOT NULL,
  destination_id TEXT,
  kind TEXT NOT NULL,
  label TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  detail TEXT,
  created_at INTEGER NOT NULL,
  -- Of one that a process has claimed: when it is another's.
  next_attempt_at INTEGER,
  delivered_at INTEGER,
  read_at INTEGER
);
INSERT INTO deliveries_anew SELECT id, project_id, event_id, account_id, destination_id, kind, label, state, attempts, detail,
  created_at, next_attempt_at, delivered_at, read_at FROM deliveries ORDER BY id;
DROP TABLE deliveries;
ALTER TABLE deliveries_anew RENAME TO deliveries;
CREATE INDEX deliveries_event ON deliveries (event_id);
CREATE INDEX deliveries_due ON deliveries (next_attempt_at) WHERE state = 'waiting';
CREATE INDEX deliveries_bell ON deliveries (account_id, id, read_at) WHERE kind = 'dashboard';

-- Jobs that are done: the oldest of all, and of each project.
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX jobs_done ON jobs (project_id, id) WHERE ended_at IS NOT NULL;

-- A counter without a name counts the events of an hour whose names are not counted one by one (counted-names.ts). Events that are removed are not
-- taken from it: it goes with the last event of its hour.
CREATE INDEX counters_partial ON counters (project_id, hour) WHERE name = '';
CREATE TRIGGER counters_emptied AFTER DELETE ON channel_counters BEGIN
  DELETE FROM counters WHERE project_id = old.project_id AND channel = old.channel AND hour = old.hour AND name = '';
END;
