-- Addresses that make events of what other services send.
CREATE TABLE webhooks (
  id TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  source TEXT NOT NULL,
  channel TEXT NOT NULL,
  -- JSON, or null for the source's own mappings.
  mapping TEXT,
  signature_header TEXT,
  -- Sealed, or null if none is entered yet.
  secret TEXT,
  -- SHA-256 of the address's token, in hexadecimal.
  token_hash TEXT NOT NULL UNIQUE,
  received_at INTEGER,
  created_at INTEGER NOT NULL,
  UNIQUE (project_id, name)
) WITHOUT ROWID;

-- The last requests of each webhook, so that a mapping can be tried on what really comes.
CREATE TABLE webhook_requests (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  webhook_id TEXT NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  -- JSON, or null if it was too long to keep.
  body TEXT,
  headers TEXT NOT NULL,
  outcome TEXT NOT NULL,
  -- Of the event that it became, or would become: the same for the same delivery.
  event_id TEXT NOT NULL,
  -- JSON, if it was rejected.
  problem TEXT,
  received_at INTEGER NOT NULL
);
CREATE INDEX webhook_requests_webhook ON webhook_requests (webhook_id, id);
CREATE INDEX webhook_requests_received ON webhook_requests (received_at);
