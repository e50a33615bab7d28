-- A removal takes its events off the users' entries in its own commit. If the first or last event of a user is among
-- them, `stale` grows, and first_at and last_at are looked up soon (users/user-activity.ts).
ALTER TABLE user_activity ADD COLUMN stale integer NOT NULL DEFAULT 0;
CREATE INDEX user_activity_stale ON user_activity (project_id, user_id) WHERE stale > 0;

-- Grows when events are removed before they were counted: whoever is counting them must read again.
ALTER TABLE user_activity_positions ADD COLUMN removals bigint NOT NULL DEFAULT 0;
-- The last user whose entry was compared with the events; null if none is to be. Earlier versions did not correct
-- entries at once, so all are compared one more time.
ALTER TABLE user_activity_positions ADD COLUMN checked_to text COLLATE "C";
UPDATE user_activity_positions SET checked_to = '';
ALTER TABLE user_activity_positions DROP COLUMN checked_at;

-- Removes events, and takes them off the entries of their users. The row of positions is locked first: whoever counts
-- events locks it too, and then waits for nothing else.
CREATE FUNCTION remove_events_of_users(in_project integer, in_created bigint[], in_ids uuid[], in_job text) RETURNS uuid[]
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  counted_to bigint;
BEGIN
  INSERT INTO user_activity_positions (project_id, ms, sequence) SELECT id, 0, 0 FROM projects WHERE id = in_project
    ON CONFLICT DO NOTHING;
  SELECT ms << 20 | sequence INTO counted_to FROM user_activity_positions WHERE project_id = in_project FOR UPDATE;
  PERFORM lock_events();
  WITH gone AS (
    SELECT ('{' || body || '}')::json ->> 'userId' COLLATE "C" AS user_id, created_at, arrival <= counted_to AS is_counted
    FROM events JOIN unnest(in_created, in_ids) AS listed (created_at, id) USING (created_at, id)
    WHERE project_id = in_project
  ), noted AS (
    UPDATE user_activity_positions SET removals = removals + 1
    WHERE project_id = in_project AND EXISTS (SELECT FROM gone WHERE NOT is_counted)
  ), sums AS (
    SELECT user_id, count(*) FILTER (WHERE is_counted) AS removed, min(created_at) AS first_gone,
      max(created_at) AS last_gone
    FROM gone GROUP BY user_id
  )
  UPDATE user_activity SET events = events - removed,
      stale = stale + CASE WHEN first_at >= first_gone OR last_at <= last_gone THEN 1 ELSE 0 END
    FROM sums WHERE project_id = in_project AND user_activity.user_id = sums.user_id;
  DELETE FROM user_activity WHERE project_id = in_project AND events <= 0;
  RETURN remove_events(in_project, in_created, in_ids, in_job);
END
$$;
