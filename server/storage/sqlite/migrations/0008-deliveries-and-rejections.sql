-- The channel of the event that a delivery tells of. Null if it tells of none, and for older deliveries.
ALTER TABLE deliveries ADD COLUMN channel TEXT;
-- Notifications of an account in a project that have the same key are shown as one (notifications/group-key.ts).
ALTER TABLE deliveries ADD COLUMN group_key TEXT;
-- The failed attempts, oldest first, as a JSON array of {atMs, detail}: the last ones.
ALTER TABLE deliveries ADD COLUMN failures TEXT;

UPDATE deliveries SET group_key = CASE WHEN notification IS NOT NULL AND rule_id IS NOT NULL THEN 'rule ' || rule_id ELSE 'delivery ' || id END
  WHERE kind = 'dashboard';

CREATE INDEX deliveries_groups ON deliveries (account_id, project_id, group_key, id, read_at, channel)
  WHERE kind = 'dashboard' AND state = 'delivered';
CREATE INDEX deliveries_project ON deliveries (project_id, id);
CREATE INDEX deliveries_dead ON deliveries (project_id, id) WHERE state = 'dead';

-- Why an event was rejected, without what differs from event to event (ingest/rejection-reason.ts).
ALTER TABLE rejected_events ADD COLUMN reason TEXT NOT NULL DEFAULT '';
UPDATE rejected_events SET reason = substr(coalesce(json_extract(problem, '$.detail'), ''), 1, 300);
-- It has all that groups need, because bodies are long.
CREATE INDEX rejected_events_groups ON rejected_events (project_id, reason, key_id, rejected_at, id);
