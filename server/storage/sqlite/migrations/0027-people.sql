-- The IDs that were joined to another one. Events keep their IDs: who did something is looked up here when it is read.
CREATE TABLE person_ids (
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  user_id text COLLATE BINARY NOT NULL,
  -- The main ID of its person, which has no row; the ID itself if it was split off.
  person_id text COLLATE BINARY NOT NULL,
  -- The ID that it was joined to: the person's main ID, or one that was joined to that. Null if it was split off.
  joined_to text COLLATE BINARY,
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
) WITHOUT ROWID;
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
