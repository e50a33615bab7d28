-- What the list of users is sorted by. Derived from events in the background (users/user-activity.ts): it may be some
-- seconds behind, and after deletions an entry counts too many events until it is checked again.
CREATE TABLE user_activity (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  user_id TEXT NOT NULL,
  events INTEGER NOT NULL,
  first_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (project_id, user_id)
) WITHOUT ROWID;
CREATE INDEX user_activity_events ON user_activity (project_id, events, user_id);
CREATE INDEX user_activity_first ON user_activity (project_id, first_at, user_id);
CREATE INDEX user_activity_last ON user_activity (project_id, last_at, user_id);

-- The last arrival that user_activity includes, and when its entries were last checked.
CREATE TABLE user_activity_positions (
  project_id INTEGER PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
  ms INTEGER NOT NULL,
  sequence INTEGER NOT NULL,
  checked_at INTEGER NOT NULL
);
