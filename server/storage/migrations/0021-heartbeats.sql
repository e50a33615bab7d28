-- Jobs that say that they ran.
CREATE TABLE heartbeats (
  id text {{binary}} PRIMARY KEY,
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name text NOT NULL,
  slug text {{binary}} NOT NULL,
  channel text NOT NULL,
  -- JSON.
  schedule text NOT NULL,
  grace_minutes integer NOT NULL,
  -- How long a run may take; null is unlimited.
  max_minutes integer,
  enabled integer NOT NULL,
  -- SHA-256 of the address's token, in hexadecimal.
  token_hash text {{binary}} NOT NULL UNIQUE,
  -- The token itself, sealed; null after the key for secrets was lost.
  token text,
  -- Of the badge's address, which is public; null if there is no badge.
  badge_token text {{binary}} UNIQUE,
  -- JSON: its pings so far, and what follows from them.
  state text NOT NULL,
  -- When it is down without another ping; null as long as nothing is expected.
  due_at bigint,
  created_at bigint NOT NULL,
  UNIQUE (project_id, slug)
) {{without_rowid}};
CREATE INDEX heartbeats_due ON heartbeats (due_at);

-- The last pings of each heartbeat.
CREATE TABLE heartbeat_pings (
  id {{identity}},
  heartbeat_id text {{binary}} NOT NULL REFERENCES heartbeats (id) ON DELETE CASCADE,
  kind text NOT NULL,
  exit_status integer,
  -- How long the run took that it ended, if its start is known.
  run_ms bigint,
  -- The beginning of what was sent with it.
  body text,
  received_at bigint NOT NULL
);
CREATE INDEX heartbeat_pings_heartbeat ON heartbeat_pings (heartbeat_id, id);

-- Events of pings and of changes of state, stored with the change. They are recorded next, and then removed.
CREATE TABLE heartbeat_events (
  id {{identity}},
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  -- JSON, with the event's id.
  event text NOT NULL
);
