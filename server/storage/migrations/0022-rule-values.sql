-- Rules that follow each value of a tag, each user or each channel by itself.
ALTER TABLE rules ADD COLUMN for_each text;
ALTER TABLE rules ADD COLUMN forget_days integer;
-- By what their alerts are told together.
ALTER TABLE rules ADD COLUMN group_by text;

-- The values that a rule follows.
CREATE TABLE rule_values (
  rule_id text {{binary}} NOT NULL REFERENCES rules (id) ON DELETE CASCADE,
  value text {{binary}} NOT NULL,
  -- The group of its last event; empty for none.
  group_value text {{binary}} NOT NULL,
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
-- The group by which it is told with others; empty for none. Its id is the one of its first alert.
ALTER TABLE alerts ADD COLUMN group_value text {{binary}} NOT NULL DEFAULT '';
ALTER TABLE alerts ADD COLUMN group_id text {{binary}};
-- When somebody was told of it, and when that will be, together with others.
ALTER TABLE alerts ADD COLUMN told_at bigint;
ALTER TABLE alerts ADD COLUMN tell_at bigint;
UPDATE alerts SET told_at = opened_at;
CREATE INDEX alerts_group ON alerts (group_id) WHERE group_id IS NOT NULL;
