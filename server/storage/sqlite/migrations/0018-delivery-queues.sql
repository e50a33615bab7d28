-- Queues of deliveries that wait as a whole: until when, and how long between two messages, because the receiver takes
-- no more. A queue without a row doesn't wait.
CREATE TABLE delivery_queues (
  destination_id TEXT PRIMARY KEY,
  held_until INTEGER NOT NULL,
  pace_ms INTEGER,
  -- The last message at this pace.
  paced_at INTEGER
) WITHOUT ROWID;

-- Since when the owners know that an urgent message to it is dead; null after a success.
ALTER TABLE project_destinations ADD COLUMN dead_told_at INTEGER;

-- Rules remember more of what they have counted.
UPDATE rules SET state = json_set(state, '$.kind.total', json_extract(state, '$.kind.count') + 1,
    '$.kind.newestId', json_extract(state, '$.kind.firstId'), '$.kind.groups', json('[]'))
  WHERE json_extract(state, '$.kind.firstId') IS NOT NULL;
UPDATE rules SET state = json_set(state, '$.kind.lastId', NULL, '$.kind.notBeforeMs', NULL)
  WHERE json_extract(state, '$.kind.isSilent') IS NOT NULL;
