-- Addresses that make events of what other services send.
CREATE TABLE webhooks (
  id text {{binary}} PRIMARY KEY,
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name text NOT NULL,
  source text NOT NULL,
  channel text NOT NULL,
  -- JSON, or null for the source's own mappings.
  mapping text,
  signature_header text,
  -- Sealed, or null if none is entered yet.
  secret text,
  -- SHA-256 of the address's token, in hexadecimal.
  token_hash text {{binary}} NOT NULL UNIQUE,
  received_at bigint,
  created_at bigint NOT NULL,
  UNIQUE (project_id, name)
) {{without_rowid}};

-- The last requests of each webhook, so that a mapping can be tried on what really comes.
CREATE TABLE webhook_requests (
  id {{identity}},
  webhook_id text {{binary}} NOT NULL REFERENCES webhooks (id) ON DELETE CASCADE,
  -- JSON, or null if it was too long to keep.
  body text,
  headers text NOT NULL,
  outcome text NOT NULL,
  -- Of the event that it became, or would become: the same for the same delivery.
  event_id text {{binary}} NOT NULL,
  -- JSON, if it was rejected.
  problem text,
  received_at bigint NOT NULL
);
CREATE INDEX webhook_requests_webhook ON webhook_requests (webhook_id, id);
CREATE INDEX webhook_requests_received ON webhook_requests (received_at);
