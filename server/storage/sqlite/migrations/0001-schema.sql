-- Events: the position is the moment of `createdAt` in milliseconds, shifted left by 21 bits, and a counter.
CREATE TABLE events (
  position INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  id BLOB NOT NULL,
  -- When an event came that carries its own createdAt; others arrived at their position.
  arrival INTEGER,
  -- The event's JSON between its id and its createdAt, which stand in the columns above.
  body TEXT NOT NULL
);

CREATE INDEX events_dated ON events (arrival) WHERE arrival IS NOT NULL;

-- Ids that clients made; ids that the server made are found through the moment that stands in them.
CREATE TABLE sent_ids (
  project_id INTEGER NOT NULL,
  id BLOB NOT NULL,
  position INTEGER NOT NULL,
  PRIMARY KEY (project_id, id)
) WITHOUT ROWID;

-- Events beyond the first 256 of a millisecond (of those that the server dated, and of those that clients dated), in the order of listings:
-- a page begins among them without reading all. In few databases there are any.
CREATE INDEX events_busy ON events (project_id, position >> 21, id) WHERE position & 1048575 >= 256;

-- Milliseconds with more than 256 events that clients dated, whose ids do not rise with their positions (append.ts).
CREATE TABLE unsorted_ms (ms INTEGER PRIMARY KEY);

-- The only secondary index of events: one token each for channel, name, user, tags, flag and words (tokens.ts).
CREATE VIRTUAL TABLE events_index USING fts5 (
  tokens, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'"
);
-- Segments of the full-text index are merged by merging.ts, in smaller steps.
INSERT INTO events_index (events_index, rank) VALUES ('automerge', 0);

-- Milestones: rows of the index that stand for no event, at each midnight from 2020 to 2049. A query that finds nothing in its
-- range of time comes to one of them and ends, rather than at the next event that it would find, however far that is.
INSERT INTO events_index (rowid, tokens)
WITH RECURSIVE days (day) AS (SELECT 18262 UNION ALL SELECT day + 1 FROM days WHERE day < 29219)
SELECT ((day * 86400000) << 21) | 2097151, 'm' FROM days;

-- Events by hour of createdAt (hours since 1970), for charts.
CREATE TABLE counters (
  project_id INTEGER NOT NULL,
  channel TEXT NOT NULL,
  name TEXT NOT NULL,
  hour INTEGER NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (project_id, channel, hour, name)
) WITHOUT ROWID;

-- The counters' sums by channel.
CREATE TABLE channel_counters (
  project_id INTEGER NOT NULL,
  channel TEXT NOT NULL,
  hour INTEGER NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (project_id, channel, hour)
) WITHOUT ROWID;

-- A counter without a name counts the events of an hour whose names are not counted one by one (counted-names.ts). Events that are removed are not
-- taken from it: it goes with the last event of its hour.
CREATE INDEX counters_partial ON counters (project_id, hour) WHERE name = '';
CREATE TRIGGER counters_emptied AFTER DELETE ON channel_counters BEGIN
  DELETE FROM counters WHERE project_id = old.project_id AND channel = old.channel AND hour = old.hour AND name = '';
END;

-- What commits added to the counters and is not in them yet: for each commit a JSON array of
-- [project, channel, name, hour, events, moment of the newest] (counter-writer.ts).
CREATE TABLE uncounted (
  id INTEGER PRIMARY KEY,
  counts TEXT NOT NULL
);

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
  begun_at INTEGER NOT NULL,
  -- Tells a digest from every other: what was read of it is kept in memory. It fits into the 53 bits of a JavaScript integer.
  digest INTEGER NOT NULL DEFAULT 0
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

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- People who sign in: these four tables are better-auth's models, under our names.
CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE,
  email_verified INTEGER NOT NULL,
  image TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);

CREATE TABLE credentials (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL,
  provider_id TEXT NOT NULL,
  user_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  access_token TEXT,
  refresh_token TEXT,
  id_token TEXT,
  access_token_expires_at TEXT,
  refresh_token_expires_at TEXT,
  scope TEXT,
  password TEXT,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX credentials_user ON credentials (user_id);

CREATE TABLE sessions (
  id TEXT PRIMARY KEY,
  expires_at TEXT NOT NULL,
  token TEXT NOT NULL UNIQUE,
  ip_address TEXT,
  user_agent TEXT,
  user_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX sessions_user ON sessions (user_id);

CREATE TABLE verifications (
  id TEXT PRIMARY KEY,
  identifier TEXT NOT NULL,
  value TEXT NOT NULL,
  expires_at TEXT NOT NULL,
  created_at TEXT NOT NULL,
  updated_at TEXT NOT NULL
);
CREATE INDEX verifications_identifier ON verifications (identifier);

CREATE TABLE projects (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  slug TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,
  -- Events of channels that are not there are rejected.
  known_channels_only INTEGER NOT NULL DEFAULT 0,
  -- Days that events are kept; null keeps them for good. A channel's own goes before its project's.
  retention_days INTEGER,
  -- A deleted project's row stays, without name and members, until no request can be under way for it.
  deleted_at INTEGER,
  created_at INTEGER NOT NULL
);

CREATE TABLE members (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  role TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, account_id)
) WITHOUT ROWID;
CREATE INDEX members_account ON members (account_id);

CREATE TABLE channels (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  icon TEXT,
  description TEXT,
  retention_days INTEGER,
  archived_at INTEGER,
  events INTEGER NOT NULL DEFAULT 0,
  last_event_at INTEGER,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, name)
) WITHOUT ROWID;

CREATE TABLE keys (
  id TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  ending TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER,
  revoked_at INTEGER
);
CREATE INDEX keys_project ON keys (project_id);

CREATE TABLE destinations (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  label TEXT NOT NULL,
  -- What a delivery is sent to: an e-mail address, a push endpoint, or the account itself.
  address TEXT NOT NULL,
  -- The keys of a push subscription, as JSON.
  secret TEXT,
  enabled INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (kind, address)
);
CREATE INDEX destinations_account ON destinations (account_id);

-- Deliveries refer to nothing: each reference is a look at another table for each of the rows that a notifying event makes, and the one
-- to destinations needs an index that costs more than all the rest of a row. They go with their event, or by their age.
CREATE TABLE deliveries (
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
CREATE INDEX deliveries_event ON deliveries (event_id);
CREATE INDEX deliveries_due ON deliveries (next_attempt_at) WHERE state = 'waiting';
CREATE INDEX deliveries_bell ON deliveries (account_id, id, read_at) WHERE kind = 'dashboard';

-- Events that were rejected, as they were sent, until somebody fixes them or they are too old.
CREATE TABLE rejected_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  -- The key that sent it; null where a signed-in member did.
  key_id TEXT,
  body TEXT NOT NULL,
  -- The body was longer; this is its beginning.
  cut INTEGER NOT NULL,
  -- The problem that the sender was told, as JSON.
  problem TEXT NOT NULL,
  rejected_at INTEGER NOT NULL
);
CREATE INDEX rejected_events_project ON rejected_events (project_id, id);

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
-- Jobs that are done: the oldest of all, and of each project.
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX jobs_done ON jobs (project_id, id) WHERE ended_at IS NOT NULL;

-- What one process alone does at a time, and until when the others leave it to it.
CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  until INTEGER NOT NULL
) WITHOUT ROWID;
