-- When the metric of a rule is read next, or is read again if the node that reads it stops. Null for other rules.
ALTER TABLE rules ADD COLUMN read_at bigint;
CREATE INDEX rules_read ON rules (read_at) WHERE read_at IS NOT NULL;
