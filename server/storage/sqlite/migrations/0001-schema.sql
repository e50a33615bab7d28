-- Events. `row_key` is the row key: the milliseconds of `createdAt` shifted left by 21 bits, plus a counter
-- (row-key.ts).
CREATE TABLE events (
  row_key INTEGER PRIMARY KEY,
  project_id INTEGER NOT NULL,
  id BLOB NOT NULL,
  -- The arrival of an event whose `createdAt` is another millisecond; that of any other event is its row key.
  arrival INTEGER,
  -- The event's JSON between its id and its createdAt, which are in the columns above.
  body TEXT NOT NULL
);

CREATE INDEX events_arrival ON events (arrival) WHERE arrival IS NOT NULL;

-- Ids that clients made. Ids that the server made are found through the timestamp in them.
CREATE TABLE sent_ids (
  project_id INTEGER NOT NULL,
  id BLOB NOT NULL,
  row_key INTEGER NOT NULL,
  PRIMARY KEY (project_id, id)
) WITHOUT ROWID;

-- Events after the first 256 of a millisecond and kind (dated or not, row-key.ts), in the order of listings, so that a
-- page can begin among them without reading all. Few databases have any.
CREATE INDEX events_busy ON events (project_id, row_key >> 21, id) WHERE row_key & 1048575 >= 256;

-- Milliseconds with more than 256 dated events whose ids do not rise with their row keys (append.ts).
CREATE TABLE unsorted_ms (ms INTEGER PRIMARY KEY);

-- The index that searches use. It has a token for the channel, name, user, flag, and each tag and word (tokens.ts).
CREATE VIRTUAL TABLE events_index USING fts5 (
  tokens, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'"
);
-- merging.ts merges segments in smaller steps.
INSERT INTO events_index (events_index, rank) VALUES ('automerge', 0);

-- Sentinel rows: rows of the index without an event, at each midnight from 2020 to 2049. A query without a match in its
-- range ends at one of them, instead of running on to the next match, however far away that is.
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

-- Sums of the counters by channel.
CREATE TABLE channel_counters (
  project_id INTEGER NOT NULL,
  channel TEXT NOT NULL,
  hour INTEGER NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (project_id, channel, hour)
) WITHOUT ROWID;

-- A counter with an empty name counts the events of an hour whose names have no counter of their own
-- (counted-names.ts). Removed events are not subtracted from it: it is deleted with the last event of its hour.
CREATE INDEX counters_partial ON counters (project_id, hour) WHERE name = '';
CREATE TRIGGER counters_emptied AFTER DELETE ON channel_counters BEGIN
  DELETE FROM counters WHERE project_id = old.project_id AND channel = old.channel AND hour = old.hour AND name = '';
END;

-- Counter deltas that are not in the counters yet: for each commit a JSON array of
-- [project, channel, name, hour, events, timestamp of the newest] (counter-writer.ts).
CREATE TABLE uncounted (
  id INTEGER PRIMARY KEY,
  counts TEXT NOT NULL
);

-- Blocks: ranges of time. For each token that is not rare in it, a block stores which of its events have the token. So
-- a query for common tokens need not go through the index to find that they never meet.
CREATE TABLE blocks (
  -- Milliseconds since 1970; to_ms is exclusive.
  from_ms INTEGER PRIMARY KEY,
  to_ms INTEGER NOT NULL,
  -- The number of events; null until the block is complete.
  events INTEGER,
  -- How many events were added or removed since the build began, and when it began.
  changed INTEGER NOT NULL DEFAULT 0,
  begun_at INTEGER NOT NULL,
  -- A random number that identifies this build of the block in the reader's cache. It fits in a JavaScript integer (53
  -- bits).
  build_id INTEGER NOT NULL DEFAULT 0
);

-- The timestamps of a block's events, 2,048 in a row. An event's ordinal is its place in the order of row keys.
CREATE TABLE block_timestamps (
  -- The block's from_ms shifted left by 21 bits, plus the ordinal of the first event.
  place INTEGER PRIMARY KEY,
  -- The millisecond of the first event, and the gaps to the next ones (bits.ts).
  ms INTEGER NOT NULL,
  gaps BLOB NOT NULL
);

-- The ordinals of the events that have a token (bits.ts). The id is the key because SQLite would read all of a long row
-- to compare a composite key.
CREATE TABLE block_tokens (
  id INTEGER PRIMARY KEY,
  from_ms INTEGER NOT NULL,
  token TEXT NOT NULL,
  ordinals BLOB NOT NULL
);
CREATE UNIQUE INDEX block_tokens_token ON block_tokens (from_ms, token);

-- Events that were stored within a block after its build began.
CREATE TABLE late_events (row_key INTEGER PRIMARY KEY);

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

-- People who sign in. These six tables are better-auth's models, under our names.
CREATE TABLE accounts (
  id TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  email TEXT NOT NULL UNIQUE,
  email_verified INTEGER NOT NULL,
  image TEXT,
  two_factor_enabled INTEGER NOT NULL DEFAULT 0,
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

CREATE TABLE two_factors (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  -- The seed of the codes (RFC 6238) and the recovery codes, encrypted.
  secret TEXT NOT NULL,
  backup_codes TEXT NOT NULL,
  verified INTEGER NOT NULL DEFAULT 1,
  failed_verification_count INTEGER NOT NULL DEFAULT 0,
  locked_until TEXT
);
CREATE INDEX two_factors_user ON two_factors (user_id);

CREATE TABLE passkeys (
  id TEXT PRIMARY KEY,
  user_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  name TEXT,
  public_key TEXT NOT NULL,
  credential_id TEXT NOT NULL UNIQUE,
  counter INTEGER NOT NULL,
  device_type TEXT NOT NULL,
  backed_up INTEGER NOT NULL,
  transports TEXT,
  aaguid TEXT,
  created_at TEXT
);
CREATE INDEX passkeys_user ON passkeys (user_id);

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
  -- Events of unknown channels are rejected.
  known_channels_only INTEGER NOT NULL DEFAULT 0,
  -- Days that events are kept; null keeps them forever. A channel's own value overrides its project's.
  retention_days INTEGER,
  -- The number of events that can be recorded on a day (UTC); null is unlimited.
  events_per_day INTEGER,
  -- A deleted project's row stays, without name and members, until no request for it can be in progress.
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

-- Invitations to a project, by a link that works once. Only the hash of its token is stored.
CREATE TABLE invitations (
  id TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  -- Whom it was sent to; null for a link that anyone can use.
  email TEXT,
  role TEXT NOT NULL,
  token_hash TEXT NOT NULL UNIQUE,
  created_by TEXT REFERENCES accounts (id) ON DELETE SET NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
);
CREATE INDEX invitations_project ON invitations (project_id);

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
  -- Separated by commas. Publishable keys have only "ingest".
  scopes TEXT NOT NULL,
  -- Origins of the pages that may use a publishable key, as a JSON array; empty allows all.
  origins TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  ending TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT,
  expires_at INTEGER,
  -- Null is unlimited.
  events_per_second INTEGER,
  last_used_at INTEGER,
  last_used_address TEXT,
  revoked_at INTEGER,
  -- The key that it was rotated to.
  replaced_by TEXT
);
CREATE INDEX keys_project ON keys (project_id);

-- Events recorded on a day (days since 1970, UTC), for projects with a quota.
CREATE TABLE daily_events (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  day INTEGER NOT NULL,
  events INTEGER NOT NULL,
  PRIMARY KEY (project_id, day)
) WITHOUT ROWID;

-- Who did what. Entries outlive the accounts, keys and projects that they name, so there are no foreign keys.
CREATE TABLE audit_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- Null for what concerns no project, such as a sign-in.
  project_id INTEGER,
  created_at INTEGER NOT NULL,
  action TEXT NOT NULL,
  -- "account", "key", "command", "server", or "nobody" for those who could not sign in.
  actor_kind TEXT NOT NULL,
  actor_id TEXT,
  -- The account's email address or the key's name at that time.
  actor TEXT,
  -- What it was done to: a member's email address, a key's name, a channel.
  target TEXT,
  -- A JSON object.
  detail TEXT NOT NULL,
  address TEXT,
  user_agent TEXT
);
CREATE INDEX audit_log_project ON audit_log (project_id, id);
CREATE INDEX audit_log_actor ON audit_log (actor_id, id);
CREATE INDEX audit_log_age ON audit_log (created_at);

CREATE TABLE destinations (
  id TEXT PRIMARY KEY,
  account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  label TEXT NOT NULL,
  -- The recipient: an e-mail address, a push endpoint, or the account itself.
  address TEXT NOT NULL,
  -- The keys of a push subscription, as JSON.
  secret TEXT,
  enabled INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  UNIQUE (kind, address)
);
CREATE INDEX destinations_account ON destinations (account_id);

-- Which events of a project notify whom, and when.
CREATE TABLE rules (
  id TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  q TEXT NOT NULL,
  -- When it notifies and whom, as JSON.
  condition TEXT NOT NULL,
  recipients TEXT NOT NULL,
  urgent INTEGER NOT NULL,
  enabled INTEGER NOT NULL,
  -- What it has counted or collected, as JSON, and when it has to be looked at without an event.
  state TEXT NOT NULL,
  due_at INTEGER,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX rules_project ON rules (project_id);
CREATE INDEX rules_due ON rules (due_at) WHERE due_at IS NOT NULL;

-- Where a project's notifications go besides its members: webhooks, chats, push services.
CREATE TABLE project_destinations (
  id TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  -- JSON, sealed: it has URLs and tokens.
  settings TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  -- The last success; the first failure after it, and what the last one said.
  delivered_at INTEGER,
  failing_since INTEGER,
  failure TEXT,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX project_destinations_name ON project_destinations (project_id, name);

-- Events that notify and whose deliveries are still to be made. Oldest first, so that each is told in its order.
CREATE TABLE outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL,
  event_id TEXT NOT NULL,
  -- When the event arrived.
  created_at INTEGER NOT NULL
);
CREATE INDEX outbox_event ON outbox (event_id);

-- Deliveries have no foreign keys. Each would cost a lookup for each row, and the one to destinations would need an
-- index that costs more than the rest of a row. Deliveries are deleted with their event, or by age.
CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL,
  -- Null if it tells of no event.
  event_id TEXT,
  -- Null if it goes to a destination of the project.
  account_id TEXT,
  destination_id TEXT,
  rule_id TEXT,
  -- What it says besides the event, as JSON: a count, a digest, a silence.
  notification TEXT,
  kind TEXT NOT NULL,
  label TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  detail TEXT,
  -- What the receiver calls the message, so that it can be updated.
  reference TEXT,
  created_at INTEGER NOT NULL,
  -- Of a claimed delivery: when another process can claim it.
  next_attempt_at INTEGER,
  delivered_at INTEGER,
  read_at INTEGER
);
CREATE INDEX deliveries_event ON deliveries (event_id);
-- A queue for each destination.
CREATE INDEX deliveries_due ON deliveries (destination_id, next_attempt_at) WHERE state = 'waiting';
CREATE INDEX deliveries_inbox ON deliveries (account_id, id, read_at) WHERE kind = 'dashboard';

-- Rejected events as they were sent, until somebody fixes them or they are too old.
CREATE TABLE rejected_events (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  -- The API key that sent it; null if a signed-in member did.
  key_id TEXT,
  body TEXT NOT NULL,
  -- 1 if the body was longer and was truncated.
  cut INTEGER NOT NULL,
  -- The problem in the sender's response, as JSON.
  problem TEXT NOT NULL,
  rejected_at INTEGER NOT NULL
);
CREATE INDEX rejected_events_project ON rejected_events (project_id, id);

-- Requests with an Idempotency-Key, and the data to repeat their responses.
CREATE TABLE idempotency_keys (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  key TEXT NOT NULL,
  -- SHA-256 of the request's body.
  body_hash TEXT NOT NULL,
  -- The response before the events were stored, as JSON: an event, or the results of a batch.
  response_template TEXT NOT NULL,
  -- The result of each event, as JSON.
  results TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, key)
) WITHOUT ROWID;
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- Properties of users that the application sent. Which users exist is known from their events.
CREATE TABLE users (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  -- A JSON object.
  properties TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, user_id)
) WITHOUT ROWID;

-- Work that outlasts a request, such as an erasure. It continues after a restart.
CREATE TABLE jobs (
  id TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL,
  -- Who started it; null for an API key. Jobs outlive their project, so there are no foreign keys.
  account_id TEXT,
  kind TEXT NOT NULL,
  state TEXT NOT NULL,
  -- What the work needs to continue, and its receipt at the end, as JSON.
  detail TEXT NOT NULL,
  done INTEGER NOT NULL DEFAULT 0,
  total INTEGER,
  created_at INTEGER NOT NULL,
  ended_at INTEGER
);
CREATE INDEX jobs_open ON jobs (created_at) WHERE ended_at IS NULL;
-- Finished jobs: the oldest of all, and of each project.
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX jobs_done ON jobs (project_id, id) WHERE ended_at IS NOT NULL;

-- Work that one process does at a time, and until when it holds it.
CREATE TABLE leases (
  name TEXT PRIMARY KEY,
  holder TEXT NOT NULL,
  until INTEGER NOT NULL
) WITHOUT ROWID;
