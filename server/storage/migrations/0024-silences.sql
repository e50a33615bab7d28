-- Planned silences: what they cover notifies nobody from starts_at to ends_at.
CREATE TABLE silences (
  id text {{binary}} PRIMARY KEY,
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  reason text NOT NULL,
  -- A search; empty covers all events.
  q text NOT NULL,
  -- Ids of rules, as JSON; an empty list covers all.
  rules text NOT NULL,
  starts_at bigint NOT NULL,
  ends_at bigint NOT NULL,
  created_by text,
  -- Who ended it before its time.
  ended_by text,
  -- When open alerts are compared with it next.
  due_at bigint,
  created_at bigint NOT NULL
) {{without_rowid}};
CREATE INDEX silences_project ON silences (project_id, ends_at);
CREATE INDEX silences_ended ON silences (ends_at);
CREATE INDEX silences_due ON silences (due_at) WHERE due_at IS NOT NULL;

-- The silence that covers it, or was the last to do so; since when, and until when. Both times are null after its end.
ALTER TABLE alerts ADD COLUMN silence_id text;
ALTER TABLE alerts ADD COLUMN silenced_at bigint;
ALTER TABLE alerts ADD COLUMN silenced_until bigint;
-- For how long silences have delayed its escalation.
ALTER TABLE alerts ADD COLUMN silenced_ms bigint NOT NULL DEFAULT 0;

-- How many messages a destination gets in an hour, besides urgent ones; null is unlimited.
ALTER TABLE destinations ADD COLUMN hourly_limit integer;

-- The current hour of each destination with a limit. It begins with a message.
CREATE TABLE message_hours (
  destination_id text {{binary}} PRIMARY KEY REFERENCES destinations (id) ON DELETE CASCADE,
  started_at bigint NOT NULL,
  messages integer NOT NULL,
  -- How many messages of which rules were held back, as JSON, and since when.
  held text NOT NULL,
  held_since bigint,
  -- When to tell of them; null if there are none.
  due_at bigint
) {{without_rowid}};
CREATE INDEX message_hours_due ON message_hours (due_at) WHERE due_at IS NOT NULL;
