-- Where notifications go: the dashboard, browsers and email of an account, or the webhooks, chats and push services of a
-- project.
CREATE TABLE new_destinations (
  id TEXT PRIMARY KEY,
  -- Its owner is one of these.
  account_id TEXT REFERENCES accounts (id) ON DELETE CASCADE,
  project_id INTEGER REFERENCES projects (id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  -- Of an account's: an email address, a push endpoint, or the account itself.
  address TEXT,
  -- JSON, sealed: URLs, tokens, the keys of a push subscription.
  settings TEXT,
  enabled INTEGER NOT NULL,
  -- Of a project's: the last success; the first failure after it, and what the last one said.
  delivered_at INTEGER,
  failing_since INTEGER,
  failure TEXT,
  -- Since when the owners know that an urgent message to it is dead; null after a success.
  dead_told_at INTEGER,
  created_at INTEGER NOT NULL,
  UNIQUE (kind, address),
  CHECK ((account_id IS NULL) <> (project_id IS NULL))
) WITHOUT ROWID;
INSERT INTO new_destinations (id, account_id, kind, name, address, settings, enabled, created_at)
  SELECT id, account_id, kind, label, address, secret, enabled, created_at FROM destinations;
INSERT INTO new_destinations (id, project_id, kind, name, settings, enabled, delivered_at, failing_since, failure,
    dead_told_at, created_at)
  SELECT id, project_id, kind, name, settings, enabled, delivered_at, failing_since, failure, dead_told_at, created_at
    FROM project_destinations;
DROP TABLE destinations;
DROP TABLE project_destinations;
ALTER TABLE new_destinations RENAME TO destinations;
CREATE INDEX destinations_account ON destinations (account_id) WHERE account_id IS NOT NULL;
CREATE UNIQUE INDEX destinations_project ON destinations (project_id, name) WHERE project_id IS NOT NULL;
