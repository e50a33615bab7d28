-- The IDs that were joined to another one. Events keep their IDs: who did something is looked up here when it is read.
CREATE TABLE person_ids (
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  user_id text COLLATE "C" NOT NULL,
  -- The main ID of its person, which has no row; the ID itself if it was split off.
  person_id text COLLATE "C" NOT NULL,
  -- The ID that it was joined to: the person's main ID, or one that was joined to that. Null if it was split off.
  joined_to text COLLATE "C",
  joined_at bigint NOT NULL,
  -- How it was joined, and the account or key that did it.
  joined_by text NOT NULL,
  joined_name text,
  -- What it had of its own before, to be restored when it is split off: properties as JSON, and when it was identified.
  properties text NOT NULL,
  identified_at bigint,
  -- The names of the properties that the person got from it, as JSON.
  filled text NOT NULL,
  -- The project's version of people when this changed, so that caches read only what is new.
  version bigint NOT NULL,
  PRIMARY KEY (project_id, user_id)
);
CREATE INDEX person_ids_person ON person_ids (project_id, person_id, user_id);
CREATE INDEX person_ids_version ON person_ids (project_id, version, user_id);

CREATE TABLE people_versions (
  project_id integer PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
  version bigint NOT NULL,
  -- The version at which rows were last removed: caches of earlier versions are read again.
  removed_version bigint NOT NULL,
  -- How many IDs are joined to another one.
  joined bigint NOT NULL
);

-- When an ID was first named as somebody's who is known. It can't be joined to another person by mistake.
ALTER TABLE users ADD COLUMN identified_at bigint;
UPDATE users SET identified_at = updated_at;

-- Of publishable keys: whether they may join IDs without a signature, and the secret for signatures, sealed.
ALTER TABLE keys ADD COLUMN identify text NOT NULL DEFAULT 'signed';
ALTER TABLE keys ADD COLUMN identity_secret text;

-- As before, but the entry of an ID is that of its person.
CREATE OR REPLACE FUNCTION remove_events_of_users(in_project integer, in_created bigint[], in_ids uuid[], in_job text) RETURNS uuid[]
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  counted_to bigint;
BEGIN
  INSERT INTO user_activity_positions (project_id, ms, sequence) SELECT id, 0, 0 FROM projects WHERE id = in_project
    ON CONFLICT DO NOTHING;
  SELECT ms << 20 | sequence INTO counted_to FROM user_activity_positions WHERE project_id = in_project FOR UPDATE;
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
