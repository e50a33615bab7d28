-- Rules that follow each value of a tag, each user or each channel by itself.
ALTER TABLE rules ADD COLUMN for_each text;
ALTER TABLE rules ADD COLUMN forget_days integer;

-- The values that a rule follows.
CREATE TABLE rule_values (
  rule_id text {{binary}} NOT NULL REFERENCES rules (id) ON DELETE CASCADE,
  value text {{binary}} NOT NULL,
  -- Its counts and collected events, as JSON.
  state text NOT NULL,
  -- When it must be evaluated without an event.
  due_at bigint,
  -- When its last event arrived.
  seen_at bigint NOT NULL,
  PRIMARY KEY (rule_id, value)
) {{without_rowid}};
CREATE INDEX rule_values_due ON rule_values (due_at) WHERE due_at IS NOT NULL;

-- The value that an alert is about; empty if its rule follows all events together.
ALTER TABLE alerts ADD COLUMN value text {{binary}} NOT NULL DEFAULT '';
DROP INDEX alerts_open;
CREATE UNIQUE INDEX alerts_open ON alerts (rule_id, value) WHERE resolved_at IS NULL;
