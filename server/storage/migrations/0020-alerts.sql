-- Events that resolve a rule's alert, and how often its message is repeated until somebody acknowledges it.
ALTER TABLE rules ADD COLUMN resolve_q text;
ALTER TABLE rules ADD COLUMN remind_minutes integer;
-- Whom to notify if nobody acknowledges the alert, as JSON.
ALTER TABLE rules ADD COLUMN escalation text NOT NULL DEFAULT '[]';
-- When it last notified.
ALTER TABLE rules ADD COLUMN fired_at bigint;

-- What rules found that goes on until it is resolved. An open one has no resolved_at.
CREATE TABLE alerts (
  id text {{binary}} PRIMARY KEY,
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  -- The rule can be deleted, and its name can change.
  rule_id text {{binary}} NOT NULL,
  rule_name text NOT NULL,
  q text NOT NULL,
  title text NOT NULL,
  urgent integer NOT NULL,
  -- How often the rule matched while the alert was open, and the last event by which it did.
  matches integer NOT NULL,
  event_id text {{binary}},
  opened_at bigint NOT NULL,
  acknowledged_at bigint,
  acknowledged_by text,
  -- Until when nobody is reminded; null: until it is resolved.
  acknowledged_until bigint,
  resolved_at bigint,
  resolved_by text,
  -- When its recipients are reminded next.
  remind_at bigint,
  -- How many steps of the rule's escalation were notified, and when the next one is.
  steps integer NOT NULL,
  escalate_at bigint,
  -- The earlier of the two times.
  due_at bigint
) {{without_rowid}};
CREATE UNIQUE INDEX alerts_open ON alerts (rule_id) WHERE resolved_at IS NULL;
CREATE INDEX alerts_open_of_project ON alerts (project_id) WHERE resolved_at IS NULL;
-- Ids are in the order in which alerts were opened.
CREATE INDEX alerts_project ON alerts (project_id, id);
CREATE INDEX alerts_resolved ON alerts (resolved_at) WHERE resolved_at IS NOT NULL;
CREATE INDEX alerts_due ON alerts (due_at) WHERE due_at IS NOT NULL;

-- What happened to an alert, and who did it.
CREATE TABLE alert_changes (
  id {{identity}},
  alert_id text {{binary}} NOT NULL REFERENCES alerts (id) ON DELETE CASCADE,
  change text NOT NULL,
  changed_by text,
  -- The recipient whose link was used. Each link can be used once for each change.
  link text {{binary}},
  until bigint,
  changed_at bigint NOT NULL,
  UNIQUE (alert_id, link, change)
);
CREATE INDEX alert_changes_alert ON alert_changes (alert_id, id);

-- The alert that a delivery tells of.
ALTER TABLE deliveries ADD COLUMN alert_id text;
