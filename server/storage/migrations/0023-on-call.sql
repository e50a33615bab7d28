-- Who is on call, by the week and the hour.
CREATE TABLE on_call_schedules (
  id text {{binary}} PRIMARY KEY,
  project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  name text NOT NULL,
  time_zone text NOT NULL,
  -- JSON.
  rotations text NOT NULL,
  -- Whether members are told when they come on call.
  notify integer NOT NULL,
  -- The account that was on call when this was last looked at, and when to look next. Null if nobody is told.
  on_call_id text {{binary}},
  due_at bigint,
  created_at bigint NOT NULL
) {{without_rowid}};
CREATE INDEX on_call_schedules_project ON on_call_schedules (project_id, id);
CREATE INDEX on_call_schedules_due ON on_call_schedules (due_at) WHERE due_at IS NOT NULL;

-- Shifts that somebody takes whatever the rotations say. Of several at a moment, the one with the latest id counts.
CREATE TABLE on_call_overrides (
  id text {{binary}} PRIMARY KEY,
  schedule_id text {{binary}} NOT NULL REFERENCES on_call_schedules (id) ON DELETE CASCADE,
  account_id text {{binary}} NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
  from_at bigint NOT NULL,
  to_at bigint NOT NULL,
  -- Name of the account, key or command.
  made_by text,
  created_at bigint NOT NULL
) {{without_rowid}};
CREATE INDEX on_call_overrides_schedule ON on_call_overrides (schedule_id, id);
CREATE INDEX on_call_overrides_account ON on_call_overrides (account_id);

-- Why the delivery's account gets it, as a sentence, if the rule names it by a schedule.
ALTER TABLE deliveries ADD COLUMN via text;
