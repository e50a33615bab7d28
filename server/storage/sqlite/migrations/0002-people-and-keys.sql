-- Two-factor authentication and passkeys: better-auth's models, under our names.
ALTER TABLE accounts ADD COLUMN two_factor_enabled INTEGER NOT NULL DEFAULT 0;

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

-- Secret keys have scopes, separated by commas. Publishable keys only send events, from pages of the allowed origins (a
-- JSON array; empty allows all).
ALTER TABLE keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'ingest,read,manage';
ALTER TABLE keys ADD COLUMN origins TEXT NOT NULL DEFAULT '[]';
ALTER TABLE keys ADD COLUMN expires_at INTEGER;
-- Null is unlimited.
ALTER TABLE keys ADD COLUMN events_per_second INTEGER;
ALTER TABLE keys ADD COLUMN last_used_address TEXT;
ALTER TABLE keys ADD COLUMN created_by TEXT;
-- The key that it was rotated to.
ALTER TABLE keys ADD COLUMN replaced_by TEXT;

-- The number of events that a project can record on a day (UTC); null is unlimited.
ALTER TABLE projects ADD COLUMN events_per_day INTEGER;

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
