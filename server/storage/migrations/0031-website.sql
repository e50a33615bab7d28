-- Websites whose pages load the script.

-- The secret of a day (UTC), with which visitors are numbered. It is deleted after the day.
CREATE TABLE website_salts (
  day text {{binary}} PRIMARY KEY,
  salt text NOT NULL
) {{without_rowid}};

-- Visits that may go on, for a few hours: a node that starts continues them, and nodes share them. Those of a deleted
-- project are deleted as all are: many are saved at once, and one without a project must not stop the others.
CREATE TABLE website_visits (
  project_id integer NOT NULL,
  visitor text {{binary}} NOT NULL,
  session text {{binary}} NOT NULL,
  -- Whether a page was viewed.
  entered integer NOT NULL,
  seen_at bigint NOT NULL,
  PRIMARY KEY (project_id, visitor)
) {{without_rowid}};
CREATE INDEX website_visits_seen ON website_visits (seen_at);

-- Projects that have got the board of a website. The board may be deleted since.
CREATE TABLE website_boards (
  project_id integer PRIMARY KEY REFERENCES projects (id) ON DELETE CASCADE,
  created_at bigint NOT NULL
) {{without_rowid}};
