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

-- The only secondary index of events: one token each for channel, name, user, tags, flag and words (tokens.ts).
CREATE VIRTUAL TABLE events_index USING fts5 (
  tokens, content = '', contentless_delete = 1, detail = none, tokenize = "ascii tokenchars '_'"
);

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

CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  event_id TEXT NOT NULL,
  account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  destination_id TEXT REFERENCES destinations (id) ON DELETE SET NULL,
  kind TEXT NOT NULL,
  label TEXT NOT NULL,
  state TEXT NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  detail TEXT,
  created_at INTEGER NOT NULL,
  next_attempt_at INTEGER,
  delivered_at INTEGER,
  read_at INTEGER
);
CREATE INDEX deliveries_event ON deliveries (event_id);
CREATE INDEX deliveries_due ON deliveries (next_attempt_at) WHERE state = 'waiting';
CREATE INDEX deliveries_bell ON deliveries (account_id, id) WHERE kind = 'dashboard';
CREATE INDEX deliveries_unread ON deliveries (account_id) WHERE kind = 'dashboard' AND read_at IS NULL;
CREATE INDEX deliveries_destination ON deliveries (destination_id);
