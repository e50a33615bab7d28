-- Saved searches of people. Who is in one is computed about every 30 seconds.
CREATE TABLE cohorts (
  id text {{binary}} PRIMARY KEY,
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name text {{binary}} NOT NULL,
  -- JSON.
  condition text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  -- How many people are in it and how many IDs they have, and the time for which that is so; null before the first time.
  people bigint,
  ids bigint,
  computed_at bigint,
  -- Changes whenever the members do, so that each process knows when to read them again.
  revision text NOT NULL,
  -- How long it took, and why it failed, if it did. The members are those of the last time then.
  took_ms bigint,
  failure text,
  -- Since when its members are being removed. It has its ID as a name then.
  deleted_at bigint,
  -- When the members are computed next.
  due_at bigint NOT NULL,
  UNIQUE (project_id, name)
) {{without_rowid}};
CREATE INDEX cohorts_due ON cohorts (due_at);

-- All IDs of the people in a cohort, so that events are matched without looking up who is who.
CREATE TABLE cohort_members (
  cohort_id text {{binary}} NOT NULL REFERENCES cohorts (id),
  user_id text {{binary}} NOT NULL,
  -- The main ID of the person.
  person_id text {{binary}} NOT NULL,
  PRIMARY KEY (cohort_id, user_id)
) {{without_rowid}};
CREATE INDEX cohort_members_user ON cohort_members (user_id);
