-- Groups of users, such as companies or teams.

-- The types of groups that a project has. One exists as long as groups of it do.
CREATE TABLE user_group_types (
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  type text {{binary}} NOT NULL,
  group_count bigint NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (project_id, type)
) {{without_rowid}};

CREATE TABLE user_groups (
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  type text {{binary}} NOT NULL,
  group_id text {{binary}} NOT NULL,
  -- JSON.
  properties text NOT NULL,
  -- How many IDs are members.
  member_count bigint NOT NULL,
  -- Changes whenever the members do, so that each process knows when to read them again.
  revision text NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  PRIMARY KEY (project_id, type, group_id)
) {{without_rowid}};

-- Members by the IDs that were named, so that joining and splitting IDs rewrites nothing.
CREATE TABLE user_group_members (
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  type text {{binary}} NOT NULL,
  group_id text {{binary}} NOT NULL,
  user_id text {{binary}} NOT NULL,
  added_at bigint NOT NULL,
  PRIMARY KEY (project_id, type, group_id, user_id)
) {{without_rowid}};
CREATE INDEX user_group_members_user ON user_group_members (project_id, user_id);

-- What members of a project wrote about users.
CREATE TABLE user_notes (
  id text {{binary}} PRIMARY KEY,
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  -- The main ID at the time of writing.
  user_id text {{binary}} NOT NULL,
  body text NOT NULL,
  -- Null if the account was deleted.
  author_id text {{binary}} REFERENCES accounts (id) ON DELETE SET NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL
) {{without_rowid}};
CREATE INDEX user_notes_user ON user_notes (project_id, user_id);
