-- Queues of deliveries that wait as a whole: until when, and how long between two messages, because the receiver takes
-- no more. A queue without a row doesn't wait.
CREATE TABLE delivery_queues (
  destination_id text COLLATE "C" PRIMARY KEY,
  held_until bigint NOT NULL,
  pace_ms bigint,
  -- The last message at this pace.
  paced_at bigint
);

-- Since when the owners know that an urgent message to it is dead; null after a success.
ALTER TABLE project_destinations ADD COLUMN dead_told_at bigint;

-- Rules remember more of what they have counted.
UPDATE rules SET state = (jsonb_set(state::jsonb, '{kind}', state::jsonb -> 'kind' || jsonb_build_object(
    'total', (state::jsonb #>> '{kind,count}')::bigint + 1, 'newestId', state::jsonb #> '{kind,firstId}',
    'groups', '[]'::jsonb)))::text
  WHERE state::jsonb #>> '{kind,firstId}' IS NOT NULL;
UPDATE rules SET state = (jsonb_set(state::jsonb, '{kind}', state::jsonb -> 'kind' ||
    '{"lastId": null, "notBeforeMs": null}'))::text
  WHERE state::jsonb #>> '{kind,isSilent}' IS NOT NULL;
