-- Removes at once what would take hours event by event: a partition all of whose events are too old. It is taken out of the events in one short
-- transaction, which makes counters and channels right as well, and becomes a table by itself. What else belonged to its events is cleared away from
-- there, a little at a time, and the table is dropped at last. It is not dropped before, so whoever comes after a crash finds what is left to do. Until
-- then a delivery is one of an event that is not found: it is neither listed nor sent, and only the number of what is unread may count it.

-- Whether all events before a moment are too old in each of some channels.
CREATE FUNCTION are_expired(in_projects integer[], in_channels text[], in_to bigint, now_ms bigint) RETURNS boolean
LANGUAGE sql SET enable_seqscan = off AS $$
  SELECT coalesce(bool_and(coalesce(
    now_ms - coalesce(channels.retention_days, projects.retention_days) * 86400000::bigint >= in_to, false)), true)
  FROM unnest(in_projects, in_channels) AS held (project_id, channel)
  LEFT JOIN projects ON projects.id = held.project_id
  LEFT JOIN channels ON channels.project_id = held.project_id AND channels.name = held.channel
$$;

-- Takes a partition out of the events if all that it has is too old, and it has so many. Gives how many went; null where somebody was in the way, and it may be
-- tried again.
--
-- What takes longer than some milliseconds is done before events are locked: the counters of these hours are only touched by who stores or removes events in
-- them, who waits then, but not for longer than this waits for the lock.
CREATE FUNCTION take_expired(in_suffix text, in_from bigint, in_to bigint, now_ms bigint, events_min integer) RETURNS bigint
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
  taken bigint;
BEGIN
  SELECT array_agg(project_id), array_agg(channel), coalesce(sum(events), 0)
    INTO held_projects, held_channels, taken
    FROM (
      SELECT project_id, channel, sum(events) AS events FROM channel_counters
      WHERE hour >= from_hour AND hour < to_hour GROUP BY 1, 2) AS sums;
  IF taken < events_min OR NOT are_expired(held_projects, held_channels, in_to, now_ms) THEN RETURN 0; END IF;

  -- Autovacuum gives way to this after a second; who reads and stores does not notice. Of two nodes, one waits here, with nothing else in hand.
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
    INTO held_projects, held_channels, held_events, taken
    FROM (SELECT project_id, channel, sum(events) AS events FROM gone GROUP BY 1, 2) AS sums;

  PERFORM lock_events();
  PERFORM FROM projects WHERE id = ANY (held_projects) FOR SHARE;
  PERFORM FROM channels JOIN unnest(held_projects, held_channels) AS held (project_id, channel)
    ON channels.project_id = held.project_id AND channels.name = held.channel FOR NO KEY UPDATE OF channels;
  -- Arrivals only grow: where the last one is the same, nothing was stored here meanwhile. And for how long events are kept may have changed.
  EXECUTE newest INTO last_stored;
  IF last_stored IS DISTINCT FROM last_known OR NOT are_expired(held_projects, held_channels, in_to, now_ms) THEN
    RAISE lock_not_available;
  END IF;
  UPDATE channels SET events = channels.events - held.events,
      last_event_at = CASE WHEN last_event_at >= in_to THEN last_event_at ELSE newest_event(channels.project_id, name) END
    FROM unnest(held_projects, held_channels, held_events) AS held (project_id, channel, events)
    WHERE channels.project_id = held.project_id AND channels.name = held.channel;
  -- More than those with which a digest is of use (storage/block.ts).
  UPDATE blocks SET changed = changed + 257 WHERE to_ms > coalesce(in_from, -9223372036854775808) AND from_ms < in_to;

  -- Who reads is waited for, and others behind: not for long, and not for the disk either. After a crash that comes first, nothing was done.
  PERFORM set_config('lock_timeout', '50ms', true);
  PERFORM set_config('synchronous_commit', 'off', true);
  EXECUTE format('ALTER TABLE events DETACH PARTITION %I', partition);
  EXECUTE format('ALTER TABLE %I RENAME TO %I', partition, 'gone_events_' || partition::regclass::oid);
  IF in_from IS NULL THEN PERFORM make_partition(in_suffix, in_from, in_to); END IF;
  RETURN taken;
EXCEPTION
  WHEN lock_not_available OR deadlock_detected THEN RETURN NULL;
  -- Taken or dropped by another node meanwhile.
  WHEN undefined_table THEN RETURN 0;
END
$$;

-- Clears away what belonged to the events on some pages of a table that was taken out, and gives their ids. It can be done twice. An id may have been sent again
-- meanwhile: what belongs to the event that has it now stays.
CREATE FUNCTION clear_taken(taken text, from_page integer, to_page integer) RETURNS text[]
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  pages text := format(' FROM %I WHERE ctid >= %L AND ctid < %L', taken, format('(%s,0)', from_page), format('(%s,0)', to_page));
  projects integer[];
  ids uuid[];
  created bigint[];
  -- In milliseconds; null where nobody was notified.
  arrived bigint[];
  tokens text[];
BEGIN
  EXECUTE 'SELECT array_agg(project_id), array_agg(id), array_agg(created_at), array_agg(CASE WHEN notified THEN arrival >> 20 END)' || pages
    INTO projects, ids, created, arrived;
  IF ids IS NULL THEN RETURN '{}'; END IF;
  tokens := ARRAY(
    SELECT word FROM ts_stat('SELECT tokens' || pages)
    WHERE word ~ '^[0-9]+[eut]' AND NOT EXISTS (SELECT FROM vocabulary_doubts WHERE token = word));

  DELETE FROM deliveries USING unnest(projects, ids, arrived) AS gone (project_id, id, arrived_ms)
    WHERE event_id = gone.id::text AND deliveries.project_id = gone.project_id AND created_at <= arrived_ms;
  IF cardinality(tokens) > 0 OR EXISTS (
    SELECT FROM sent_ids JOIN unnest(projects, ids, created) AS gone (project_id, id, created_at) USING (project_id, id, created_at)
  ) THEN
    PERFORM lock_events();
    INSERT INTO vocabulary_doubts (token) SELECT unnest(tokens) ON CONFLICT DO NOTHING;
    DELETE FROM sent_ids USING unnest(projects, ids, created) AS gone (project_id, id, created_at)
      WHERE sent_ids.project_id = gone.project_id AND sent_ids.id = gone.id AND sent_ids.created_at = gone.created_at
        AND NOT EXISTS (
          SELECT FROM events
          WHERE events.project_id = gone.project_id AND events.created_at = gone.created_at AND events.id = gone.id);
  END IF;
  RETURN ids::text[];
END
$$;

-- Drops a table that was taken out and cleared; not now where somebody reads it, such as a backup. False then.
CREATE FUNCTION drop_taken(taken text) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$
BEGIN
  EXECUTE format('DROP TABLE IF EXISTS %I', taken);
  RETURN true;
EXCEPTION WHEN lock_not_available THEN
  RETURN false;
END
$$;
