-- Grows with every change of the project's people that isn't one of their properties: their counted events, and who is
-- who. A cohort whose project has the same number as when it was computed is still right.
ALTER TABLE user_activity_positions ADD COLUMN changes bigint NOT NULL DEFAULT 0;

-- The same for properties. Each change adds to one of a few rows, so that few requests wait for each other's commit.
CREATE TABLE property_changes (
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  slot integer NOT NULL,
  changes bigint NOT NULL,
  PRIMARY KEY (project_id, slot)
);

-- The sum of both when the members were computed; null if they must be computed again.
ALTER TABLE cohorts ADD COLUMN computed_changes bigint;
-- When the members may change by time alone, because events get older; null if they can't.
ALTER TABLE cohorts ADD COLUMN changes_at bigint;

-- As before, and a removal is a change of the project's people.
CREATE OR REPLACE FUNCTION remove_events_of_users(in_project integer, in_created bigint[], in_ids uuid[], in_job text) RETURNS uuid[]
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  counted_to bigint;
BEGIN
  INSERT INTO user_activity_positions (project_id, ms, sequence) SELECT id, 0, 0 FROM projects WHERE id = in_project
    ON CONFLICT DO NOTHING;
  -- Locks the row, as counting does.
  UPDATE user_activity_positions SET changes = changes + 1 WHERE project_id = in_project
    RETURNING ms << 20 | sequence INTO counted_to;
  PERFORM lock_events();
  WITH gone AS (
    SELECT ('{' || body || '}')::json ->> 'userId' COLLATE "C" AS sent_id, created_at, arrival <= counted_to AS is_counted
    FROM events JOIN unnest(in_created, in_ids) AS listed (created_at, id) USING (created_at, id)
    WHERE project_id = in_project
  ), noted AS (
    UPDATE user_activity_positions SET removals = removals + 1
    WHERE project_id = in_project AND EXISTS (SELECT FROM gone WHERE NOT is_counted)
  ), sums AS (
    SELECT coalesce(person_id, sent_id) AS user_id, count(*) FILTER (WHERE is_counted) AS removed,
      min(created_at) AS first_gone, max(created_at) AS last_gone
    FROM gone LEFT JOIN person_ids ON person_ids.project_id = in_project AND person_ids.user_id = sent_id
    GROUP BY 1
  )
  UPDATE user_activity SET events = events - removed,
      stale = stale + CASE WHEN first_at >= first_gone OR last_at <= last_gone THEN 1 ELSE 0 END
    FROM sums WHERE project_id = in_project AND user_activity.user_id = sums.user_id;
  DELETE FROM user_activity WHERE project_id = in_project AND events <= 0;
  RETURN remove_events(in_project, in_created, in_ids, in_job);
END
$$;
