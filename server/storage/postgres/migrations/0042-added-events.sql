-- How many of a block's changes are events that were added (storage/block.ts). Of those so far, it is not known.
ALTER TABLE blocks ADD COLUMN added integer NOT NULL DEFAULT 0;
UPDATE blocks SET added = changed;

-- As before, but they count added events apart, and a block can have more changes. What loses a whole month is built
-- again.

CREATE OR REPLACE FUNCTION note_late_events(in_projects integer[], in_created bigint[], is_skipped boolean[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM blocks WHERE to_ms > (SELECT min(created_at) FROM unnest(in_created) AS created_at)) THEN
    RETURN;
  END IF;
  WITH late AS MATERIALIZED (
    SELECT block.id, created_at
    FROM unnest(in_projects, in_created, is_skipped) AS t (project_id, created_at, skip)
    CROSS JOIN LATERAL (
      SELECT id, to_ms, added FROM blocks
      WHERE blocks.project_id = t.project_id AND from_ms <= t.created_at ORDER BY from_ms DESC LIMIT 1) AS block
    -- A block with more of them is not used (storage/block.ts).
    WHERE created_at < block.to_ms AND block.added <= 256 AND NOT skip
  ), noted AS (
    INSERT INTO late_events (block, created_at) SELECT DISTINCT id, created_at FROM late ON CONFLICT DO NOTHING
  )
  UPDATE blocks SET changed = changed + came, added = added + came
    FROM (SELECT id, count(*) AS came FROM late GROUP BY id) AS sums WHERE blocks.id = sums.id;
END
$$;

CREATE OR REPLACE FUNCTION note_removed_events(in_project integer, in_created bigint[]) RETURNS void
LANGUAGE sql SET enable_seqscan = off AS $$
  WITH removed AS MATERIALIZED (
    SELECT block.id, created_at FROM unnest(in_created) AS created_at
    CROSS JOIN LATERAL (
      SELECT id, to_ms FROM blocks
      WHERE blocks.project_id = in_project AND from_ms <= created_at ORDER BY from_ms DESC LIMIT 1) AS block
    WHERE created_at < block.to_ms
  ), sums AS (
    SELECT id, count(*) AS went FROM removed GROUP BY id
  ), noted AS (
    INSERT INTO late_events (block, created_at)
      SELECT DISTINCT removed.id, created_at FROM removed JOIN sums USING (id) JOIN blocks USING (id)
      -- A block with more of them is not used (storage/block.ts).
      WHERE changed + went <= 16384
      ON CONFLICT DO NOTHING
  )
  UPDATE blocks SET changed = changed + went FROM sums WHERE blocks.id = sums.id
$$;

CREATE OR REPLACE FUNCTION add_to_block(
  in_block bigint, in_builder uuid, in_firsts integer[], in_ms bigint[], in_gaps bytea[], in_tokens text[], in_ordinals bytea[]
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE blocks SET stepped_at = now() WHERE id = in_block AND builder = in_builder AND changed <= 16384 AND added <= 256;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO block_timestamps (block, first, ms, gaps) SELECT in_block, * FROM unnest(in_firsts, in_ms, in_gaps);
  INSERT INTO block_tokens (block, token, ordinals) SELECT in_block, * FROM unnest(in_tokens, in_ordinals);
  RETURN true;
END
$$;

CREATE OR REPLACE FUNCTION detach_expired(in_suffix text, in_from bigint, in_to bigint, now_ms bigint, events_min integer) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '2s' AS $$
DECLARE
  partition text := 'events_' || in_suffix;
  newest text := format('SELECT max(arrival) FROM %I', partition);
  from_hour integer := coalesce(in_from / 3600000, -2147483648);
  to_hour integer := in_to / 3600000;
  last_known bigint;
  last_stored bigint;
  held_projects integer[];
  held_channels text[];
  held_events bigint[];
  detached bigint;
BEGIN
  SELECT array_agg(project_id), array_agg(channel), coalesce(sum(events), 0)
    INTO held_projects, held_channels, detached
    FROM (
      SELECT project_id, channel, sum(events) AS events FROM channel_counters
      WHERE hour >= from_hour AND hour < to_hour GROUP BY 1, 2) AS sums;
  IF detached < events_min OR NOT are_expired(held_projects, held_channels, in_to, now_ms) THEN RETURN 0; END IF;

  -- Autovacuum gives way to this lock after a second; reads and writes don't conflict with it. A second node waits
  -- here, while it holds nothing else.
  EXECUTE format('LOCK TABLE %I IN SHARE UPDATE EXCLUSIVE MODE', partition);
  PERFORM set_config('lock_timeout', '200ms', true);
  EXECUTE newest INTO last_known;
  DELETE FROM counters USING (
      SELECT DISTINCT project_id, channel FROM channel_counters WHERE hour >= from_hour AND hour < to_hour) AS held
    WHERE counters.project_id = held.project_id AND counters.channel = held.channel
      AND hour >= from_hour AND hour < to_hour;
  WITH gone AS (
    DELETE FROM channel_counters WHERE hour >= from_hour AND hour < to_hour RETURNING project_id, channel, events
  )
  SELECT array_agg(project_id), array_agg(channel), array_agg(events), coalesce(sum(events), 0)
    INTO held_projects, held_channels, held_events, detached
    FROM (SELECT project_id, channel, sum(events) AS events FROM gone GROUP BY 1, 2) AS sums;

  PERFORM lock_events();
  PERFORM FROM projects WHERE id = ANY (held_projects) FOR SHARE;
  PERFORM FROM channels JOIN unnest(held_projects, held_channels) AS held (project_id, channel)
    ON channels.project_id = held.project_id AND channels.name = held.channel FOR NO KEY UPDATE OF channels;
  -- Arrivals only grow: if the last one is the same, no event was stored here meanwhile. Retention can have changed,
  -- too.
  EXECUTE newest INTO last_stored;
  IF last_stored IS DISTINCT FROM last_known OR NOT are_expired(held_projects, held_channels, in_to, now_ms) THEN
    RAISE lock_not_available;
  END IF;
  UPDATE channels SET events = channels.events - held.events,
      last_event_at = CASE WHEN last_event_at >= in_to THEN last_event_at ELSE newest_event(channels.project_id, name) END
    FROM unnest(held_projects, held_channels, held_events) AS held (project_id, channel, events)
    WHERE channels.project_id = held.project_id AND channels.name = held.channel;
  -- They are built again.
  UPDATE blocks SET events = NULL, builder = NULL WHERE to_ms > coalesce(in_from, -9223372036854775808) AND from_ms < in_to;

  -- DETACH waits for readers, and others wait behind it: keep that short, and don't wait for the disk. If a crash loses
  -- the commit, nothing was done.
  PERFORM set_config('lock_timeout', '50ms', true);
  PERFORM set_config('synchronous_commit', 'off', true);
  EXECUTE format('ALTER TABLE events DETACH PARTITION %I', partition);
  EXECUTE format('ALTER TABLE %I RENAME TO %I', partition, 'gone_events_' || partition::regclass::oid);
  IF in_from IS NULL THEN PERFORM make_partition(in_suffix, in_from, in_to); END IF;
  RETURN detached;
EXCEPTION
  WHEN lock_not_available OR deadlock_detected THEN RETURN NULL;
  -- Detached or dropped by another node.
  WHEN undefined_table THEN RETURN 0;
END
$$;
