-- What the list of users is sorted by. Derived from events in the background (users/user-activity.ts): it may be some
-- seconds behind, and after deletions an entry counts too many events until it is checked again.
CREATE TABLE user_activity (
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  user_id text {{binary}} NOT NULL,
  events bigint NOT NULL,
  first_at bigint NOT NULL,
  last_at bigint NOT NULL,
  PRIMARY KEY (project_id, user_id)
) {{without_rowid}};
CREATE INDEX user_activity_events ON user_activity (project_id, events, user_id);
CREATE INDEX user_activity_first ON user_activity (project_id, first_at, user_id);
CREATE INDEX user_activity_last ON user_activity (project_id, last_at, user_id);

-- The last arrival that user_activity includes, and when its entries were last checked.
CREATE TABLE user_activity_positions (
  project_id integer PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
  ms bigint NOT NULL,
  sequence bigint NOT NULL,
  checked_at bigint NOT NULL
);
