-- Bodies of events in older blocks, compressed (body-group.ts). The event's row then has a reference in place of its
-- body: it never begins with a quotation mark, as JSON does.
CREATE TABLE body_groups (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- The bodies in it, without those of removed events.
  events INTEGER NOT NULL,
  -- The version of the format, and of each frame the number of bodies, the length and the checksum. Its length matters.
  frames BLOB NOT NULL,
  -- The zstd frames, and zeros up to the end of an overflow page.
  bytes BLOB NOT NULL
);

-- References to bodies of removed events that are still in their groups.
CREATE TABLE removed_bodies (reference INTEGER PRIMARY KEY);

-- 1 if the bodies of the block's events are in groups, except few that were stored late.
ALTER TABLE blocks ADD COLUMN packed INTEGER NOT NULL DEFAULT 0;
