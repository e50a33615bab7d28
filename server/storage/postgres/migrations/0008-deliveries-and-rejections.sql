-- The channel of the event that a delivery tells of. Null if it tells of none, and for older deliveries.
ALTER TABLE deliveries ADD COLUMN channel text COLLATE "C";
-- Notifications of an account in a project that have the same key are shown as one (notifications/group-key.ts).
ALTER TABLE deliveries ADD COLUMN group_key text COLLATE "C";
-- The failed attempts, oldest first, as a JSON array of {atMs, detail}: the last ones.
ALTER TABLE deliveries ADD COLUMN failures text;

UPDATE deliveries SET group_key = CASE WHEN notification IS NOT NULL AND rule_id IS NOT NULL THEN 'rule ' || rule_id ELSE 'delivery ' || id END
  WHERE kind = 'dashboard';

CREATE INDEX deliveries_groups ON deliveries (account_id, project_id, group_key, id, read_at, channel)
  WHERE kind = 'dashboard' AND state = 'delivered';
CREATE INDEX deliveries_project ON deliveries (project_id, id);
CREATE INDEX deliveries_dead ON deliveries (project_id, id) WHERE state = 'dead';

-- Why an event was rejected, without what differs from event to event (ingest/rejection-reason.ts).
ALTER TABLE rejected_events ADD COLUMN reason text COLLATE "C" NOT NULL DEFAULT '';
-- Not by a JSON function: a problem can contain an escaped NUL, which these refuse.
UPDATE rejected_events SET reason = left(coalesce(replace(substring(problem FROM '"detail":"((?:[^"\\]|\\.)*)"'), '\"', '"'), ''), 300);
CREATE INDEX rejected_events_groups ON rejected_events (project_id, reason, key_id, rejected_at, id);

DROP FUNCTION keep_rejected(integer[], text[], bytea[], integer[], text[], bigint[], integer, bigint, integer);

-- Keeps rejected events. Deletes those beyond each project's maximum, and some expired ones of any project.
CREATE FUNCTION keep_rejected(
  in_projects integer[], in_keys text[], in_bodies bytea[], in_cut integer[], in_problems text[], in_reasons text[],
  in_rejected bigint[], events_max integer, expired_ms bigint, expired_max integer
) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  project integer;
  last bigint;
BEGIN
  -- Lock the projects: two concurrent calls for one project would not count each other's events.
  PERFORM FROM projects WHERE projects.id = ANY (in_projects) ORDER BY projects.id FOR NO KEY UPDATE;
  INSERT INTO rejected_events (project_id, key_id, body, cut, problem, reason, rejected_at)
    SELECT * FROM unnest(in_projects, in_keys, in_bodies, in_cut, in_problems, in_reasons, in_rejected);
  FOR project IN SELECT DISTINCT unnest(in_projects) LOOP
    SELECT id INTO last FROM rejected_events WHERE project_id = project ORDER BY id DESC LIMIT 1 OFFSET events_max;
    CONTINUE WHEN NOT FOUND;
    DELETE FROM rejected_events WHERE project_id = project AND id <= last;
  END LOOP;
  DELETE FROM rejected_events
    WHERE rejected_at < expired_ms AND id IN (SELECT id FROM rejected_events ORDER BY id LIMIT expired_max);
END
$$;
