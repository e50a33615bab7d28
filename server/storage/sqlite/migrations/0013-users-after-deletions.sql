-- A removal takes its events off the users' entries in its own commit. If the first or last event of a user is among
-- them, `stale` grows, and first_at and last_at are looked up soon (users/user-activity.ts).
ALTER TABLE user_activity ADD COLUMN stale INTEGER NOT NULL DEFAULT 0;
CREATE INDEX user_activity_stale ON user_activity (project_id, user_id) WHERE stale > 0;

-- Grows when events are removed before they were counted: whoever is counting them must read again.
ALTER TABLE user_activity_positions ADD COLUMN removals INTEGER NOT NULL DEFAULT 0;
-- The last user whose entry was compared with the events; null if none is to be. Earlier versions did not correct
-- entries at once, so all are compared one more time.
ALTER TABLE user_activity_positions ADD COLUMN checked_to TEXT;
UPDATE user_activity_positions SET checked_to = '';
ALTER TABLE user_activity_positions DROP COLUMN checked_at;
