-- Where notifications go: the dashboard, browsers and email of an account, or the webhooks, chats and push services of a
-- project. Its owner is one of the two.
ALTER TABLE destinations ALTER account_id DROP NOT NULL;
ALTER TABLE destinations ADD project_id integer REFERENCES projects (id) ON DELETE CASCADE;
ALTER TABLE destinations ADD CHECK ((account_id IS NULL) <> (project_id IS NULL));
ALTER TABLE destinations RENAME label TO name;
-- Of an account's: an email address, a push endpoint, or the account itself.
ALTER TABLE destinations ALTER address DROP NOT NULL;
-- JSON, sealed: URLs, tokens, the keys of a push subscription.
ALTER TABLE destinations RENAME secret TO settings;
-- Of a project's: the last success; the first failure after it, and what the last one said.
ALTER TABLE destinations ADD delivered_at bigint;
ALTER TABLE destinations ADD failing_since bigint;
ALTER TABLE destinations ADD failure text;
-- Since when the owners know that an urgent message to it is dead; null after a success.
ALTER TABLE destinations ADD dead_told_at bigint;
INSERT INTO destinations (id, project_id, kind, name, settings, enabled, delivered_at, failing_since, failure,
    dead_told_at, created_at)
  SELECT id, project_id, kind, name, settings, enabled, delivered_at, failing_since, failure, dead_told_at, created_at
    FROM project_destinations;
DROP TABLE project_destinations;
DROP INDEX destinations_account;
CREATE INDEX destinations_account ON destinations (account_id) WHERE account_id IS NOT NULL;
CREATE UNIQUE INDEX destinations_project ON destinations (project_id, name) WHERE project_id IS NOT NULL;
