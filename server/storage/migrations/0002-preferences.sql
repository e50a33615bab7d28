-- How an account wants to be notified, in all of its projects.
CREATE TABLE notification_settings (
  account_id text {{binary}} PRIMARY KEY REFERENCES accounts (id) ON DELETE CASCADE,
  time_zone text NOT NULL,
  -- JSON, or null if there are none.
  quiet_hours text,
  email_digest text
) {{without_rowid}};

-- What of a channel a destination of a member gets, if not what rules notify of. The channel '' is the whole project.
CREATE TABLE notification_levels (
  project_id integer NOT NULL,
  account_id text {{binary}} NOT NULL,
  channel text {{binary}} NOT NULL,
  destination_id text {{binary}} NOT NULL REFERENCES destinations (id) ON DELETE CASCADE,
  level text NOT NULL,
  PRIMARY KEY (project_id, account_id, channel, destination_id),
  FOREIGN KEY (project_id, account_id) REFERENCES members (project_id, account_id) ON DELETE CASCADE
) {{without_rowid}};
CREATE INDEX notification_levels_account ON notification_levels (account_id);
CREATE INDEX notification_levels_destination ON notification_levels (destination_id);

-- Channels, or names of events in them, that a member wants to hear nothing of.
CREATE TABLE mutes (
  id text {{binary}} PRIMARY KEY,
  project_id integer NOT NULL,
  account_id text {{binary}} NOT NULL,
  channel text {{binary}} NOT NULL,
  -- The name '' is the whole channel.
  name text {{binary}} NOT NULL,
  -- Null for good.
  until bigint,
  created_at bigint NOT NULL,
  UNIQUE (project_id, account_id, channel, name),
  FOREIGN KEY (project_id, account_id) REFERENCES members (project_id, account_id) ON DELETE CASCADE
) {{without_rowid}};
CREATE INDEX mutes_account ON mutes (account_id);

-- Members who want no email about a project.
CREATE TABLE email_unsubscriptions (
  project_id integer NOT NULL,
  account_id text {{binary}} NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (project_id, account_id),
  FOREIGN KEY (project_id, account_id) REFERENCES members (project_id, account_id) ON DELETE CASCADE
) {{without_rowid}};
CREATE INDEX email_unsubscriptions_account ON email_unsubscriptions (account_id);

-- Why a delivery was skipped or collected, and until when that holds.
ALTER TABLE deliveries ADD COLUMN reason text;
ALTER TABLE deliveries ADD COLUMN until bigint;
-- The delivery of the digest that a collected one is part of.
ALTER TABLE deliveries ADD COLUMN digest_id bigint;
CREATE INDEX deliveries_collected ON deliveries (next_attempt_at) WHERE state = 'collected' AND next_attempt_at IS NOT NULL;
CREATE INDEX deliveries_digest ON deliveries (digest_id) WHERE digest_id IS NOT NULL;

-- Without what was skipped.
DROP INDEX deliveries_inbox;
CREATE INDEX deliveries_inbox ON deliveries (account_id, id, read_at) WHERE kind = 'dashboard' AND state = 'delivered';

-- Summaries and digests of a rule.
CREATE INDEX deliveries_rule ON deliveries (rule_id, created_at) WHERE notification IS NOT NULL;
