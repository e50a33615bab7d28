-- Events that are not accepted are called rejected everywhere.
ALTER TABLE refused_events RENAME TO rejected_events;
ALTER TABLE rejected_events RENAME COLUMN refused_at TO rejected_at;
ALTER INDEX refused_events_pkey RENAME TO rejected_events_pkey;
ALTER INDEX refused_events_project RENAME TO rejected_events_project;
ALTER SEQUENCE refused_events_id_seq RENAME TO rejected_events_id_seq;
ALTER TABLE rejected_events RENAME CONSTRAINT refused_events_project_id_fkey TO rejected_events_project_id_fkey;

-- The procedure is the one of 0007-clock.sql, with the new names in it.
DO $$
BEGIN
  EXECUTE replace(
    replace(pg_get_functiondef('append_events'::regproc), 'refused_events', 'rejected_events'), 'refusedId', 'rejectedId');
END
$$;

DROP FUNCTION keep_refused;
-- Keeps rejected events, deletes those beyond each project's maximum, and some of any project that are too old.
CREATE FUNCTION keep_rejected(
  in_projects integer[], in_keys text[], in_bodies bytea[], in_cut integer[], in_problems text[], in_rejected bigint[],
  events_max integer, expired_ms bigint, expired_max integer
) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  project integer;
  last bigint;
BEGIN
  -- Of two transactions that keep events of one project at once, neither would count what the other adds.
  PERFORM FROM projects WHERE projects.id = ANY (in_projects) ORDER BY projects.id FOR NO KEY UPDATE;
  INSERT INTO rejected_events (project_id, key_id, body, cut, problem, rejected_at)
    SELECT * FROM unnest(in_projects, in_keys, in_bodies, in_cut, in_problems, in_rejected);
  FOR project IN SELECT DISTINCT unnest(in_projects) LOOP
    SELECT id INTO last FROM rejected_events WHERE project_id = project ORDER BY id DESC LIMIT 1 OFFSET events_max;
    CONTINUE WHEN NOT FOUND;
    DELETE FROM rejected_events WHERE project_id = project AND id <= last;
  END LOOP;
  DELETE FROM rejected_events
    WHERE rejected_at < expired_ms AND id IN (SELECT id FROM rejected_events ORDER BY id LIMIT expired_max);
END
$$;

UPDATE jobs SET detail = replace(detail, '"erasedRefusedEvents"', '"erasedRejectedEvents"');
