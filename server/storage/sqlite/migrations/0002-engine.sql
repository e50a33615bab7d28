-- What a project keeps to itself: events of channels that are not there, and events without end.
ALTER TABLE projects ADD COLUMN known_channels_only INTEGER NOT NULL DEFAULT 0;
-- Days that events are kept; null keeps them for good. A channel's own goes before its project's.
ALTER TABLE projects ADD COLUMN retention_days INTEGER;
-- A deleted project's row stays, without name and members, until no request can be under way for it.
ALTER TABLE projects ADD COLUMN deleted_at INTEGER;
ALTER TABLE channels ADD COLUMN retention_days INTEGER;
ALTER TABLE channels ADD COLUMN description TEXT;
ALTER TABLE channels ADD COLUMN archived_at INTEGER;

-- Events that were refused, as they were sent, until somebody mends them or they are too old.
CREATE TABLE refused_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  -- The key that sent it; null where a signed-in member did.
  key_id TEXT,
  body TEXT NOT NULL,
  -- The body was longer; this is its beginning.
  cut INTEGER NOT NULL,
  -- The problem that the sender was told, as JSON.
  problem TEXT NOT NULL,
  refused_at INTEGER NOT NULL
);
CREATE INDEX refused_events_project ON refused_events (project_id, id);

-- Requests that carried an Idempotency-Key, with what their answers are made from, to be given again.
CREATE TABLE idempotency_keys (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  -- SHA-256 of the request's body.
  body_hash TEXT NOT NULL,
  -- An event, or an array of verdicts, as it was before it was stored.
  draft TEXT NOT NULL,
  -- What became of each event, as JSON.
  verdicts TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- What the application told of its users; that they are there is known from their events.
CREATE TABLE users (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  -- A JSON object.
  properties TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, user_id)
) WITHOUT ROWID;

-- Work that outlasts a request, such as an erasure: taken up again after a restart.
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL,
  -- Who started it; null for a key. Jobs outlive their project, so nothing is referred to.
  account_id TEXT,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  -- What the kind of work needs to go on, and its receipt in the end, as JSON.
  detail TEXT NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  total INTEGER,
  created_at INTEGER NOT NULL,
  ended_at INTEGER
);
CREATE INDEX jobs_open ON jobs (created_at) WHERE ended_at IS NULL;

-- What commits added to the counters and is not in them yet: for each commit a JSON array of
-- [project, channel, name, hour, events, moment of the newest] (counting.ts).
CREATE TABLE uncounted (
  id INTEGER PRIMARY KEY,
  counts TEXT NOT NULL
);

-- Milestones: rows of the index that stand for no event, at each midnight from 2020 to 2049. A query that finds nothing in its
-- range of time comes to one of them and ends, rather than at the next event that it would find, however far that is.
INSERT INTO events_index (rowid, tokens)
WITH RECURSIVE days (day) AS (SELECT 18262 UNION ALL SELECT day + 1 FROM days WHERE day < 29219)
SELECT ((day * 86400000) << 21) | 2097151, 'm' FROM days;

-- Blocks: ranges of time whose events are digested. A digest says of each token that is not rare there which of the block's
-- events have it, so that a query of common tokens needs not go through the index to find that they never meet.
CREATE TABLE blocks (
  -- Milliseconds since 1970: the first, and the one after the last.
  from_ms INTEGER PRIMARY KEY,
  to_ms INTEGER NOT NULL,
  -- How many events were digested; null until all are.
  events INTEGER,
  -- How many came or went since the digest was begun, and when that was.
  changed INTEGER NOT NULL DEFAULT 0,
  begun_at INTEGER NOT NULL
);

-- When a block's events happened, some hundreds in a row; their ordinals are their places in the order of positions.
CREATE TABLE block_moments (
  -- The block's first millisecond, shifted left by 21 bits, and the ordinal of the first.
  place INTEGER PRIMARY KEY,
  -- The first's millisecond, and the gaps to the others' (bits.ts).
  ms INTEGER NOT NULL,
  gaps BLOB NOT NULL
);

-- The ordinals of the events that have a token (bits.ts). A key of its own, since SQLite reads all of a long row to compare keys.
CREATE TABLE block_tokens (
  id INTEGER PRIMARY KEY,
  from_ms INTEGER NOT NULL,
  token TEXT NOT NULL,
  ordinals BLOB NOT NULL
);
CREATE UNIQUE INDEX block_tokens_token ON block_tokens (from_ms, token);

-- Events that were stored within a block after its digest was begun.
CREATE TABLE late_events (position INTEGER PRIMARY KEY);
