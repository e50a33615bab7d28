-- Events that are moved to ClickHouse (storage/clickhouse/README.md).

-- Ranges of arrivals, each stored as one block. At most one is not shipped yet. Without ClickHouse there are none.
CREATE TABLE shipped_ranges (
  block bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- The first arrival is later than this.
  after_arrival bigint NOT NULL,
  to_arrival bigint NOT NULL,
  -- Sent along, so that ClickHouse stores the block once however often it is sent.
  token uuid NOT NULL,
  planned_at bigint NOT NULL,
  -- From now on, the events are read from ClickHouse.
  shipped_at bigint,
  events integer,
  -- As it was compared with what ClickHouse stored (storage/clickhouse/rows.ts).
  checksum text,
  -- The latest created_at of this range and all before it.
  newest_ms bigint,
  -- From now on, rows in the table events may be missing.
  cleared_at bigint,
  -- None are left.
  gone_at bigint
);
CREATE UNIQUE INDEX shipped_ranges_planned ON shipped_ranges ((shipped_at IS NULL)) WHERE shipped_at IS NULL;
CREATE INDEX shipped_ranges_kept ON shipped_ranges (block) WHERE gone_at IS NULL;
CREATE INDEX shipped_ranges_arrival ON shipped_ranges (to_arrival);

-- The servers that ranges are shipped to. Each has all blocks; reads ask one that is current: it has every shipped block,
-- without the events of each removal that was answered. At least one stays current.
CREATE TABLE clickhouse_servers (
  -- It is in the server's database, too, so that an emptied or wrong one is recognised.
  id uuid PRIMARY KEY,
  -- Host, port and database.
  address text NOT NULL,
  -- It has all blocks up to this one,
  complete_to bigint NOT NULL,
  -- and the removals up to this number are applied to them.
  removed_to bigint NOT NULL,
  -- Null if it is current.
  behind_since bigint,
  -- Null if it is in the setting.
  left_at bigint
);

-- Events that were removed when they were in ClickHouse or on their way: those in blocks up to `block`. They are kept
-- for a while after they were deleted there, so that a second removal of the same event is not counted.
CREATE SEQUENCE shipped_removal_numbers;
CREATE TABLE shipped_removals (
  -- In the order of commits.
  number bigint NOT NULL DEFAULT nextval('shipped_removal_numbers'),
  project_id integer NOT NULL,
  created_at bigint NOT NULL,
  id uuid NOT NULL,
  block bigint NOT NULL,
  removed_at bigint NOT NULL,
  -- They were deleted on all servers.
  applied_at bigint,
  PRIMARY KEY (project_id, created_at, id)
);
CREATE UNIQUE INDEX shipped_removals_number ON shipped_removals (number);
CREATE INDEX shipped_removals_pending ON shipped_removals (number) WHERE applied_at IS NULL;
CREATE INDEX shipped_removals_applied ON shipped_removals (applied_at) WHERE applied_at IS NOT NULL;

-- An id that a client sends again belongs to an event that is only in ClickHouse: the row must come back before the
-- batch can be stored (storage/clickhouse/restore.ts).
CREATE FUNCTION refuse_shipped_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM shipped_ranges WHERE shipped_at IS NOT NULL) THEN
    RAISE EXCEPTION 'The event is in ClickHouse' USING ERRCODE = 'TD001';
  END IF;
  RETURN NEW;
END
$$;
CREATE TRIGGER sent_ids_shipped BEFORE UPDATE ON sent_ids FOR EACH ROW EXECUTE FUNCTION refuse_shipped_id();

-- Removes events that may be in ClickHouse. Rows that are only there come back first, so that a removal takes the same
-- counters, channels, deliveries and users along wherever the event was. Returns the ids of those that still existed.
--
-- The old_ arrays have an element for each event that was read from ClickHouse; the others name all events.
CREATE FUNCTION remove_shipped_events(
  in_project integer, in_created bigint[], in_ids uuid[], in_job text,
  old_created bigint[], old_arrivals bigint[], old_ids uuid[], old_notified integer[], old_bodies text[], old_tokens text[],
  old_blocks bigint[], now_ms bigint
) RETURNS uuid[] LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  last_block bigint;
  last_arrival bigint;
BEGIN
  -- The locks of remove_events_of_users, in its order.
  INSERT INTO user_activity_positions (project_id, ms, sequence) SELECT id, 0, 0 FROM projects WHERE id = in_project
    ON CONFLICT DO NOTHING;
  PERFORM FROM user_activity_positions WHERE project_id = in_project FOR UPDATE;
  PERFORM lock_events();
  SELECT max(block), max(to_arrival) INTO last_block, last_arrival FROM shipped_ranges;
  INSERT INTO events (created_at, arrival, id, project_id, notified, body, tokens)
    SELECT old.created_at, arrival, old.id, in_project, notified = 1, body, array_to_tsvector(string_to_array(token_list, ' '))
    FROM unnest(old_created, old_arrivals, old_ids, old_notified, old_bodies, old_tokens, old_blocks)
      AS old (created_at, arrival, id, notified, body, token_list, block)
    WHERE NOT EXISTS (
      SELECT FROM shipped_removals AS known
      WHERE known.project_id = in_project AND known.created_at = old.created_at AND known.id = old.id
        AND known.block >= old.block)
    ON CONFLICT DO NOTHING;
  INSERT INTO shipped_removals (project_id, created_at, id, block, removed_at)
    SELECT in_project, created_at, id, last_block, now_ms
    FROM events JOIN unnest(in_created, in_ids) AS listed (created_at, id) USING (created_at, id)
    WHERE project_id = in_project AND arrival <= last_arrival
    ON CONFLICT (project_id, created_at, id) DO UPDATE
      SET number = excluded.number, block = excluded.block, removed_at = excluded.removed_at, applied_at = NULL;
  RETURN remove_events_of_users(in_project, in_created, in_ids, in_job);
END
$$;

-- The timestamp of a channel's newest event, which is in its last hour with events; null if there is none. With ClickHouse,
-- the start of that hour: whoever removed the events looks there, too.
CREATE OR REPLACE FUNCTION newest_event(in_project integer, in_channel text) RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  last_ms bigint;
BEGIN
  SELECT max(hour)::bigint * 3600000 INTO last_ms FROM channel_counters WHERE project_id = in_project AND channel = in_channel;
  IF last_ms IS NULL THEN RETURN NULL; END IF;
  IF EXISTS (SELECT FROM shipped_ranges WHERE shipped_at IS NOT NULL) THEN RETURN last_ms; END IF;
  RETURN (
    SELECT max(created_at) FROM events
    WHERE project_id = in_project AND ('{' || body || '}')::json ->> 'channelId' = in_channel
      AND created_at >= last_ms AND created_at < last_ms + 3600000);
END
$$;

-- The number of events with each token, in the order of the tokens, and one of the events if it is wanted. Only events
-- that arrived after in_above count.
DROP FUNCTION count_tokens(text[], boolean[]);
CREATE FUNCTION count_tokens(in_tokens text[], in_shown boolean[], in_above bigint)
RETURNS TABLE (events bigint, created_at bigint, id uuid, body text)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_indexscan = off AS $$
BEGIN
  RETURN QUERY
    SELECT counted.events, one.created_at, one.id, one.body
    FROM unnest(in_tokens, in_shown) WITH ORDINALITY AS word (token, is_shown, n)
    CROSS JOIN LATERAL (
      SELECT count(*) AS events FROM events WHERE tokens @@ query_of_token(token) AND arrival > in_above) AS counted
    LEFT JOIN LATERAL (
      SELECT events.created_at, events.id, events.body FROM events
      WHERE is_shown AND tokens @@ query_of_token(token) AND arrival > in_above LIMIT 1) AS one ON true
    ORDER BY n;
END
$$;

-- Servers have a range, without the events of removals up to a number. From now on, its events are read from ClickHouse,
-- and only from servers that have it. Returns false if events were removed since.
CREATE FUNCTION finish_range(
  in_block bigint, in_servers uuid[], in_removed_to bigint, in_events integer, in_checksum text, in_newest_ms bigint, now_ms bigint
) RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  last_block bigint;
BEGIN
  PERFORM lock_events();
  LOCK TABLE clickhouse_servers IN EXCLUSIVE MODE;
  IF EXISTS (SELECT FROM shipped_removals WHERE number > in_removed_to) THEN RETURN false; END IF;
  -- A node that finishes late, or a server that was replaced meanwhile, changes nothing.
  UPDATE clickhouse_servers SET complete_to = in_block, removed_to = greatest(removed_to, in_removed_to)
    WHERE id = ANY (in_servers) AND complete_to <= in_block
      AND complete_to >= coalesce((SELECT max(block) FROM shipped_ranges WHERE shipped_at IS NOT NULL AND block < in_block), 0);
  IF NOT FOUND THEN RETURN true; END IF;
  UPDATE shipped_ranges SET shipped_at = now_ms, events = in_events, checksum = in_checksum,
      newest_ms = greatest(in_newest_ms, (SELECT max(newest_ms) FROM shipped_ranges))
    WHERE block = in_block AND shipped_at IS NULL;
  SELECT max(block) INTO last_block FROM shipped_ranges WHERE shipped_at IS NOT NULL;
  UPDATE clickhouse_servers SET behind_since = NULL
    WHERE id = ANY (in_servers) AND complete_to = last_block AND removed_to >= in_removed_to;
  UPDATE clickhouse_servers SET behind_since = now_ms
    WHERE behind_since IS NULL AND complete_to < last_block
      AND EXISTS (SELECT FROM clickhouse_servers WHERE behind_since IS NULL AND complete_to = last_block);
  RETURN true;
END
$$;

-- Reads no longer ask some servers, if another one is current and has applied the removals up to a number. Returns whether
-- it has.
CREATE FUNCTION leave_behind(in_servers uuid[], in_removed_to bigint, now_ms bigint) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  LOCK TABLE clickhouse_servers IN EXCLUSIVE MODE;
  IF NOT EXISTS (
    SELECT FROM clickhouse_servers WHERE behind_since IS NULL AND removed_to >= in_removed_to AND NOT id = ANY (in_servers))
  THEN
    RETURN false;
  END IF;
  UPDATE clickhouse_servers SET behind_since = now_ms WHERE id = ANY (in_servers) AND behind_since IS NULL;
  RETURN true;
END
$$;
