-- What each member has read of a channel, and whether it is pinned in the sidebar.
CREATE TABLE channel_marks (
  project_id INTEGER NOT NULL,
  account_id TEXT NOT NULL,
  channel TEXT NOT NULL,
  -- Events up to here are read; null: those from before the member joined.
  seen_at INTEGER,
  -- Its place among the pinned channels; null if it isn't pinned.
  pin INTEGER,
  PRIMARY KEY (project_id, account_id, channel),
  FOREIGN KEY (project_id, account_id) REFERENCES members (project_id, account_id) ON DELETE CASCADE,
  FOREIGN KEY (project_id, channel) REFERENCES channels (project_id, name) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX channel_marks_channel ON channel_marks (project_id, channel);

-- Browsers kept this before. Nobody shall find a year of unread events after the update.
INSERT INTO channel_marks (project_id, account_id, channel, seen_at)
SELECT members.project_id, members.account_id, channels.name, CAST(unixepoch('subsec') * 1000 AS INTEGER)
FROM members JOIN channels ON channels.project_id = members.project_id;

-- Searches that are saved in the sidebar.
CREATE TABLE views (
  id TEXT PRIMARY KEY,
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  -- Whose view it is; null for a view of the whole project.
  account_id TEXT,
  name TEXT NOT NULL,
  q TEXT NOT NULL,
  -- The time range and the split of its charts, as the dashboard's URLs have them.
  range TEXT,
  split TEXT,
  -- Its place among the project's views, or the member's.
  position INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  FOREIGN KEY (project_id, account_id) REFERENCES members (project_id, account_id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE INDEX views_project ON views (project_id, account_id);

CREATE TABLE view_marks (
  view_id TEXT NOT NULL REFERENCES views (id) ON DELETE CASCADE,
  account_id TEXT NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (view_id, account_id)
) WITHOUT ROWID;
CREATE INDEX view_marks_account ON view_marks (account_id);
