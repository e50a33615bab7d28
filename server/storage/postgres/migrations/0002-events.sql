-- Events in the order of listings: by created_at (milliseconds since 1970), then id, within each project. One partition for each
-- month (partitions.ts), and one for all that is older than the first of them.
CREATE TABLE events (
  created_at bigint NOT NULL,
  -- The event's place in the order of commits, whichever node made them: milliseconds, shifted left by 20 bits, and a counter.
  arrival bigint NOT NULL,
  id uuid NOT NULL,
  project_id integer NOT NULL,
  -- Deliveries were made for it.
  notified boolean NOT NULL,
  -- The event's JSON between its id and its createdAt, which stand in the columns above.
  body text NOT NULL,
  -- What it is found by: one token each for channel, name, user, tags, flag and words (storage/tokens.ts).
  tokens tsvector NOT NULL,
  PRIMARY KEY (project_id, created_at, id)
) PARTITION BY RANGE (created_at);

CREATE INDEX events_arrival ON events (arrival, project_id);
-- What is added waits in a list that each search reads through, and is put in its places many at a time: a short list.
CREATE INDEX events_tokens ON events USING gin (tokens) WITH (fastupdate = on, gin_pending_list_limit = 512);

-- Ids that clients made, and ids of events that clients dated; the others are found through the moment that stands in them.
CREATE TABLE sent_ids (
  project_id integer NOT NULL,
  id uuid NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (project_id, id)
);

-- Events by hour of createdAt (hours since 1970), for charts. Rows are updated again and again: pages keep room for that.
CREATE TABLE counters (
  project_id integer NOT NULL,
  channel text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  hour integer NOT NULL,
  events bigint NOT NULL,
  PRIMARY KEY (project_id, channel, hour, name)
) WITH (fillfactor = 70);

-- The counters' sums by channel.
CREATE TABLE channel_counters (
  project_id integer NOT NULL,
  channel text COLLATE "C" NOT NULL,
  hour integer NOT NULL,
  events bigint NOT NULL,
  PRIMARY KEY (project_id, channel, hour)
) WITH (fillfactor = 70);
-- A row comes with a channel's first event in an hour: that is all there is to add here.
CREATE INDEX channel_counters_hour ON channel_counters (hour);

-- The tokens of names, users and tags that events have, to be looked up by how they begin.
CREATE TABLE vocabulary (token text COLLATE "C" PRIMARY KEY);
-- Those of removed events, until it is known whether another event has them.
CREATE TABLE vocabulary_doubts (token text COLLATE "C" PRIMARY KEY);

-- The last arrival that was given out, and how often the vocabulary was cut: sequences, since a row that each commit updates would leave a dead
-- one behind each time.
CREATE SEQUENCE last_arrival AS bigint MINVALUE 0 START 0;
CREATE SEQUENCE vocabulary_cuts AS bigint MINVALUE 0 START 0;

-- Holds what changes events up until its transaction ends, so that it comes after all that was committed before.
CREATE FUNCTION lock_events() RETURNS void LANGUAGE sql AS $$
  SELECT pg_advisory_xact_lock(('last_arrival'::regclass::oid)::bigint)
$$;

-- The channel on which nodes tell each other of what they committed.
CREATE FUNCTION arrivals_channel() RETURNS text LANGUAGE sql STABLE AS $$
  SELECT 'tidings_' || ('last_arrival'::regclass::oid)::text
$$;

-- A commit waits until the log is durable where its transaction has written to it; this is something to write.
CREATE SEQUENCE waits_for_log;

-- Makes the partition for the events from one moment to another, if it is not there.
CREATE FUNCTION make_partition(suffix text, from_ms bigint, to_ms bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  partition text := 'events_' || suffix;
BEGIN
  PERFORM lock_events();
  IF to_regclass(partition) IS NOT NULL THEN RETURN; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE events INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES)', partition);
  -- Rare tokens are told from common ones by statistics.
  EXECUTE format('ALTER TABLE %I ALTER COLUMN tokens SET STATISTICS 500', partition);
  -- Unlike CREATE TABLE … PARTITION OF, this holds up no query.
  IF from_ms IS NULL THEN
    EXECUTE format('ALTER TABLE events ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%s)', partition, to_ms);
  ELSE
    EXECUTE format('ALTER TABLE events ATTACH PARTITION %I FOR VALUES FROM (%s) TO (%s)', partition, from_ms, to_ms);
  END IF;
END
$$;

-- Drops a month that has no event; not now where somebody reads, who would have to be waited for, and others behind.
CREATE FUNCTION drop_empty_partition(suffix text) RETURNS void LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$
DECLARE
  partition text := 'events_' || suffix;
  is_empty boolean;
BEGIN
  EXECUTE format('SELECT NOT EXISTS (SELECT FROM %I)', partition) INTO is_empty;
  IF NOT is_empty THEN RETURN; END IF;
  PERFORM lock_events();
  EXECUTE format('SELECT NOT EXISTS (SELECT FROM %I)', partition) INTO is_empty;
  IF is_empty THEN EXECUTE format('DROP TABLE %I', partition); END IF;
-- Locked, or dropped by another node meanwhile.
EXCEPTION WHEN lock_not_available OR undefined_table THEN
  RETURN;
END
$$;

-- The first month that has a partition: three years back, so that nobody makes thousands of partitions by dating events back.
DO $$
DECLARE
  first timestamptz := date_trunc('month', now() AT TIME ZONE 'UTC' - interval '3 years') AT TIME ZONE 'UTC';
BEGIN
  PERFORM make_partition('before', NULL, (extract(epoch FROM first) * 1000)::bigint);
END
$$;

-- An event's JSON as the API shows it.
CREATE FUNCTION event_json(id uuid, body text, created_at bigint) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT '{"id":"' || id || '",' || body || ',"createdAt":"'
    || to_char(to_timestamp(created_at / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS')
    || '.' || lpad((created_at % 1000)::text, 3, '0') || 'Z"}'
$$;

-- Stores events with all that belongs to them, in one transaction, and ends once it is durable. All is one statement: nobody holds the lock
-- between two messages, and whoever gets an answer knows that the database has not crashed meanwhile.
--
-- That transaction does not wait for the log: the next events are stored meanwhile. A second one waits, whose place in the log is behind
-- it, and tells the others. What reads events to tell somebody of them before that has to wait as well (waits_for_log).
--
-- Each array has a place for each event, in the order of the node's arrivals.
--
-- flags: 1 the client made the id, 2 the client dated it, 4 it notifies, 8 its deliveries are there; all_flags has those that any
-- event has. id_ms: the moment in an id that a client made. ties: what is tied to the events whose tie_of is its place, from 1 on. The
-- arrays of sums have a place for each channel, name and hour of the events. new_tokens: what the node does not know to be in the vocabulary, as it was after so many
-- cuts. note: what the others are told, as the members of a JSON object.
--
-- news: what became of events whose verdict is not a plain "created", by their place: [place, "notified"], [place, "untied"],
-- [place, "duplicate", id, body, createdAt].
CREATE PROCEDURE append_events(
  in_projects integer[], in_created bigint[], in_arrivals bigint[], in_ids uuid[], in_bodies text[], in_tokens text[],
  in_flags integer[], in_id_ms bigint[], in_all_flags integer, in_tie_of integer[], in_ties jsonb,
  sum_projects integer[], sum_channels text[], sum_names text[], sum_hours integer[], sum_events integer[], sum_last bigint[],
  in_new_tokens text[], in_cuts bigint, in_note text,
  OUT before_ms bigint, OUT before_sequence integer, OUT shift bigint, OUT cuts bigint, OUT news jsonb
) LANGUAGE plpgsql AS $$
DECLARE
  size integer := cardinality(in_created);
  before bigint;
  now_ms bigint;
  -- Places of events that are not stored, and of those that notified somebody.
  left_out integer[] := '{}';
  notified_at integer[] := '{}';
  tie jsonb;
  place integer;
  found_news jsonb;
BEGIN
  PERFORM set_config('enable_seqscan', 'off', true);
  PERFORM lock_events();
  SELECT last_value INTO before FROM last_arrival;
  -- Arrivals are the node's own, moved on where another node's clock is ahead.
  shift := greatest(0, before + 1 - in_arrivals[1]);
  PERFORM setval('last_arrival', in_arrivals[size] + shift);
  before_ms := before >> 20;
  before_sequence := before & 1048575;
  now_ms := (in_arrivals[1] + shift) >> 20;
  news := '[]';

  IF in_ties IS NOT NULL THEN
    FOR tie, place IN SELECT value, ordinality FROM jsonb_array_elements(in_ties) WITH ORDINALITY LOOP
      IF tie ->> 'kind' = 'replay' THEN
        DELETE FROM refused_events
          WHERE id = (tie ->> 'refusedId')::bigint AND project_id = (tie ->> 'projectId')::integer;
        CONTINUE WHEN FOUND;
      ELSE
        INSERT INTO idempotency_keys AS known (project_id, key, body_hash, draft, verdicts, created_at)
          VALUES ((tie ->> 'projectId')::integer, tie ->> 'key', tie ->> 'bodyHash', tie ->> 'draft', '', now_ms)
          ON CONFLICT (project_id, key) DO UPDATE SET body_hash = excluded.body_hash, draft = excluded.draft,
            verdicts = excluded.verdicts, created_at = excluded.created_at
          WHERE known.created_at < (tie ->> 'expiredMs')::bigint;
        CONTINUE WHEN FOUND;
      END IF;
      left_out := left_out || ARRAY(SELECT n FROM unnest(in_tie_of) WITH ORDINALITY AS t (tie_of, n) WHERE tie_of = place);
      news := news || (
        SELECT coalesce(jsonb_agg(jsonb_build_array(n, 'untied')), '[]')
        FROM unnest(in_tie_of) WITH ORDINALITY AS t (tie_of, n) WHERE tie_of = place);
    END LOOP;
  END IF;

  IF in_all_flags & 1 <> 0 THEN
    WITH sent AS MATERIALIZED (
      SELECT n, project_id, sent.id, id_ms,
        row_number() OVER (PARTITION BY project_id, sent.id ORDER BY n) AS nth,
        first_value(n) OVER (PARTITION BY project_id, sent.id ORDER BY n) AS first_n
      FROM unnest(in_projects, in_ids, in_id_ms, in_flags) WITH ORDINALITY AS sent (project_id, id, id_ms, flag, n)
      WHERE flag & 1 = 1 AND n <> ALL (left_out)
    ), placed AS MATERIALIZED (
      SELECT sent.*, coalesce(sent_ids.created_at, sent.id_ms) AS at_ms
      FROM sent LEFT JOIN sent_ids ON sent_ids.project_id = sent.project_id AND sent_ids.id = sent.id
    ), doubles AS (
      SELECT n, placed.id, events.body, events.created_at
      FROM placed JOIN events ON events.project_id = placed.project_id AND events.created_at = placed.at_ms AND events.id = placed.id
      UNION ALL
      SELECT n, placed.id, in_bodies[first_n], in_created[first_n] FROM placed
      WHERE nth > 1 AND NOT EXISTS (
        SELECT FROM events
        WHERE events.project_id = placed.project_id AND events.created_at = placed.at_ms AND events.id = placed.id)
    )
    SELECT array_agg(n), jsonb_agg(jsonb_build_array(n, 'duplicate', id, body, created_at))
      INTO notified_at, found_news FROM doubles;
    IF found_news IS NOT NULL THEN
      left_out := left_out || notified_at;
      news := news || found_news;
    END IF;
    notified_at := '{}';
  END IF;

  IF in_all_flags & 4 <> 0 THEN
    WITH notifying AS MATERIALIZED (
      SELECT n, project_id, id::text AS event_id, (arrival + shift) >> 20 AS arrival_ms
      FROM unnest(in_projects, in_ids, in_arrivals, in_flags) WITH ORDINALITY AS t (project_id, id, arrival, flag, n)
      WHERE flag & 4 = 4 AND n <> ALL (left_out)
    ), made AS (
      INSERT INTO deliveries (project_id, event_id, account_id, destination_id, kind, label, state, created_at,
                              next_attempt_at, delivered_at)
      SELECT project_id, event_id, members.account_id, destinations.id, kind, label,
             CASE kind WHEN 'dashboard' THEN 'delivered' ELSE 'waiting' END, arrival_ms,
             CASE kind WHEN 'dashboard' THEN NULL ELSE arrival_ms END, CASE kind WHEN 'dashboard' THEN arrival_ms END
      FROM notifying JOIN members USING (project_id) JOIN destinations USING (account_id)
      WHERE enabled = 1 ORDER BY n
      RETURNING project_id, event_id
    )
    SELECT coalesce(array_agg(n), '{}') INTO notified_at
    FROM notifying WHERE EXISTS (SELECT FROM made WHERE made.project_id = notifying.project_id AND made.event_id = notifying.event_id);
    news := news || (SELECT coalesce(jsonb_agg(jsonb_build_array(n, 'notified')), '[]') FROM unnest(notified_at) AS n);
  END IF;

  INSERT INTO events (created_at, arrival, id, project_id, notified, body, tokens)
    SELECT created_at, arrival + shift, id, project_id, flag & 8 = 8 OR n = ANY (notified_at), body,
           array_to_tsvector(string_to_array(token_list, ' '))
    FROM unnest(in_created, in_arrivals, in_ids, in_projects, in_flags, in_bodies, in_tokens)
      WITH ORDINALITY AS t (created_at, arrival, id, project_id, flag, body, token_list, n)
    WHERE n <> ALL (left_out);
  PERFORM note_late_events(in_projects, in_created, left_out);
  IF in_all_flags & 3 <> 0 THEN
    INSERT INTO sent_ids (project_id, id, created_at)
      SELECT project_id, id, created_at
      FROM unnest(in_projects, in_ids, in_created, in_flags) WITH ORDINALITY AS t (project_id, id, created_at, flag, n)
      WHERE flag & 3 <> 0 AND n <> ALL (left_out)
      -- That of an event which went with its whole month, and is not cleared away yet (clear_taken).
      ON CONFLICT (project_id, id) DO UPDATE SET created_at = excluded.created_at;
  END IF;

  IF cardinality(left_out) > 0 THEN
    SELECT array_agg(project_id), array_agg(channel), array_agg(name), array_agg(hour), array_agg(events), array_agg(last_ms)
      INTO sum_projects, sum_channels, sum_names, sum_hours, sum_events, sum_last
      FROM (
        SELECT project_id, event ->> 'channelId' AS channel, event ->> 'name' AS name, (created_at / 3600000)::integer AS hour,
          count(*)::integer AS events, max(created_at) AS last_ms
        FROM (
          SELECT project_id, created_at, ('{' || body || '}')::json AS event
          FROM unnest(in_projects, in_created, in_bodies) WITH ORDINALITY AS t (project_id, created_at, body, n)
          WHERE n <> ALL (left_out)) AS stored
        GROUP BY 1, 2, 3, 4) AS sums;
  END IF;
  INSERT INTO counters AS known (project_id, channel, name, hour, events)
    SELECT * FROM unnest(sum_projects, sum_channels, sum_names, sum_hours, sum_events)
    ON CONFLICT (project_id, channel, hour, name) DO UPDATE SET events = known.events + excluded.events;
  INSERT INTO channel_counters AS known (project_id, channel, hour, events)
    SELECT project_id, channel, hour, sum(events)
    FROM unnest(sum_projects, sum_channels, sum_hours, sum_events) AS t (project_id, channel, hour, events) GROUP BY 1, 2, 3
    ON CONFLICT (project_id, channel, hour) DO UPDATE SET events = known.events + excluded.events;
  INSERT INTO channels AS known (project_id, name, events, last_event_at, created_at)
    SELECT project_id, channel, sum(events), max(last_ms), now_ms
    FROM unnest(sum_projects, sum_channels, sum_events, sum_last) AS t (project_id, channel, events, last_ms) GROUP BY 1, 2
    ON CONFLICT (project_id, name) DO UPDATE SET events = known.events + excluded.events,
      last_event_at = greatest(known.last_event_at, excluded.last_event_at);

  SELECT last_value INTO cuts FROM vocabulary_cuts;
  IF cuts <> in_cuts THEN
    -- The node does not know what was cut off meanwhile.
    in_new_tokens := ARRAY(
      SELECT DISTINCT token FROM unnest(in_tokens) AS list, string_to_table(list, ' ') AS token WHERE token ~ '^[0-9]+[eut]');
  END IF;
  IF cardinality(in_new_tokens) > 0 THEN
    INSERT INTO vocabulary (token) SELECT unnest(in_new_tokens) ON CONFLICT DO NOTHING;
  END IF;

  IF in_ties IS NOT NULL THEN
    FOR tie, place IN SELECT value, ordinality FROM jsonb_array_elements(in_ties) WITH ORDINALITY LOOP
      CONTINUE WHEN tie ->> 'kind' = 'replay' OR EXISTS (
        SELECT FROM jsonb_array_elements(news) AS item WHERE item ->> 1 = 'untied' AND in_tie_of[(item ->> 0)::integer] = place);
      UPDATE idempotency_keys SET verdicts = (
        SELECT json_agg(
          CASE item ->> 1
            WHEN 'duplicate' THEN json_build_object('kind', 'duplicate',
              'json', event_json((item ->> 2)::uuid, item ->> 3, (item ->> 4)::bigint))
            ELSE json_build_object('kind', 'created', 'notified', item IS NOT NULL)
          END ORDER BY n)
        FROM unnest(in_tie_of) WITH ORDINALITY AS t (tie_of, n)
        LEFT JOIN jsonb_array_elements(news) AS item ON (item ->> 0)::integer = n
        WHERE tie_of = place)
      WHERE project_id = (tie ->> 'projectId')::integer AND key = tie ->> 'key';
      -- Keys that are past their time go a few at a time, whenever one is added: more go than come.
      DELETE FROM idempotency_keys WHERE (project_id, key) IN (
        SELECT project_id, key FROM idempotency_keys WHERE created_at < (tie ->> 'expiredMs')::bigint
        ORDER BY created_at LIMIT 10);
    END LOOP;
  END IF;
  IF news = '[]' THEN news := NULL; END IF;

  -- A key that is stored with its answer is answered with as soon as it can be read.
  IF in_ties IS NULL THEN
    PERFORM set_config('synchronous_commit', 'off', true);
    COMMIT;
    PERFORM setval('waits_for_log', 1);
  END IF;
  IF cardinality(left_out) < size THEN
    PERFORM pg_notify(arrivals_channel(), format('{%s,"before":"%s","last":"%s","notified":%s}',
      in_note, before, in_arrivals[size] + shift, (cardinality(notified_at) > 0)::text));
  END IF;
END
$$;

-- Keeps refused events, drops those of their projects that are too many, and some of any that are too old.
CREATE FUNCTION keep_refused(
  in_projects integer[], in_keys text[], in_bodies bytea[], in_cut integer[], in_problems text[], in_refused bigint[],
  events_max integer, expired_ms bigint, expired_max integer
) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  project integer;
  last bigint;
BEGIN
  -- Of two that keep events of one project at once, neither would count what the other adds.
  PERFORM FROM projects WHERE projects.id = ANY (in_projects) ORDER BY projects.id FOR NO KEY UPDATE;
  INSERT INTO refused_events (project_id, key_id, body, cut, problem, refused_at)
    SELECT * FROM unnest(in_projects, in_keys, in_bodies, in_cut, in_problems, in_refused);
  FOR project IN SELECT DISTINCT unnest(in_projects) LOOP
    SELECT id INTO last FROM refused_events WHERE project_id = project ORDER BY id DESC LIMIT 1 OFFSET events_max;
    CONTINUE WHEN NOT FOUND;
    DELETE FROM refused_events WHERE project_id = project AND id <= last;
  END LOOP;
  DELETE FROM refused_events
    WHERE refused_at < expired_ms AND id IN (SELECT id FROM refused_events ORDER BY id LIMIT expired_max);
END
$$;

-- When the newest event of a channel happened, which is in the last hour that has any; null where there is none.
CREATE FUNCTION newest_event(in_project integer, in_channel text) RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  last_ms bigint;
BEGIN
  SELECT max(hour)::bigint * 3600000 INTO last_ms FROM channel_counters WHERE project_id = in_project AND channel = in_channel;
  IF last_ms IS NULL THEN RETURN NULL; END IF;
  RETURN (
    SELECT max(created_at) FROM events
    WHERE project_id = in_project AND ('{' || body || '}')::json ->> 'channelId' = in_channel
      AND created_at >= last_ms AND created_at < last_ms + 3600000);
END
$$;

-- Removes events by their places, with all that belongs to them; gives the ids of those that were still there.
CREATE FUNCTION remove_events(in_project integer, in_created bigint[], in_ids uuid[], in_job text) RETURNS uuid[]
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  gone_ids uuid[];
  gone_created bigint[];
  gone_channels text[];
  gone_names text[];
  gone_tokens text[];
BEGIN
  PERFORM lock_events();
  WITH gone AS (
    DELETE FROM events USING unnest(in_created, in_ids) AS place (created_at, id)
    WHERE events.project_id = in_project AND events.created_at = place.created_at AND events.id = place.id
    RETURNING events.id, events.created_at, ('{' || events.body || '}')::json AS event, events.tokens
  )
  SELECT coalesce(array_agg(id), '{}'), coalesce(array_agg(created_at), '{}'), coalesce(array_agg(event ->> 'channelId'), '{}'),
         coalesce(array_agg(event ->> 'name'), '{}'),
         coalesce(array_agg(array_to_string(tsvector_to_array(tokens), ' ')), '{}')
    INTO gone_ids, gone_created, gone_channels, gone_names, gone_tokens FROM gone;
  PERFORM note_gone_events(in_project, gone_created);
  DELETE FROM sent_ids WHERE project_id = in_project AND id = ANY (gone_ids);
  DELETE FROM deliveries WHERE event_id = ANY (gone_ids::text[]) AND project_id = in_project;

  WITH sums AS (
    SELECT channel, name, (created_at / 3600000)::integer AS hour, count(*) AS removed
    FROM unnest(gone_channels, gone_names, gone_created) AS t (channel, name, created_at) GROUP BY 1, 2, 3
  )
  UPDATE counters SET events = events - removed FROM sums
    WHERE project_id = in_project AND counters.channel = sums.channel AND counters.name = sums.name AND counters.hour = sums.hour;
  WITH sums AS (
    SELECT channel, (created_at / 3600000)::integer AS hour, count(*) AS removed
    FROM unnest(gone_channels, gone_created) AS t (channel, created_at) GROUP BY 1, 2
  )
  UPDATE channel_counters SET events = events - removed FROM sums
    WHERE project_id = in_project AND channel_counters.channel = sums.channel AND channel_counters.hour = sums.hour;
  WITH hours AS (
    SELECT DISTINCT channel, (created_at / 3600000)::integer AS hour FROM unnest(gone_channels, gone_created) AS t (channel, created_at)
  ), emptied AS (
    DELETE FROM counters USING hours
    WHERE project_id = in_project AND counters.channel = hours.channel AND counters.hour = hours.hour AND events <= 0
  )
  DELETE FROM channel_counters USING hours
    WHERE project_id = in_project AND channel_counters.channel = hours.channel AND channel_counters.hour = hours.hour AND events <= 0;

  UPDATE channels SET events = events - removed,
      last_event_at = CASE WHEN last_event_at > last_removed THEN last_event_at ELSE newest_event(in_project, name) END
    FROM (
      SELECT channel, count(*) AS removed, max(created_at) AS last_removed
      FROM unnest(gone_channels, gone_created) AS t (channel, created_at) GROUP BY channel
    ) AS sums
    WHERE project_id = in_project AND channels.name = sums.channel;

  INSERT INTO vocabulary_doubts (token)
    SELECT DISTINCT token FROM unnest(gone_tokens) AS list, string_to_table(list, ' ') AS token WHERE token ~ '^[0-9]+[eut]'
    ON CONFLICT DO NOTHING;
  IF in_job IS NOT NULL THEN
    UPDATE jobs SET done = done + cardinality(gone_ids) WHERE id = in_job;
  END IF;
  RETURN gone_ids;
END
$$;

-- Takes tokens out of doubt, and out of the vocabulary those that no event has.
CREATE FUNCTION settle_doubts(in_tokens text[], in_gone text[]) RETURNS void LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  PERFORM lock_events();
  DELETE FROM vocabulary_doubts WHERE token = ANY (in_tokens);
  IF cardinality(in_gone) = 0 THEN RETURN; END IF;
  PERFORM nextval('vocabulary_cuts');
  DELETE FROM vocabulary WHERE token = ANY (in_gone)
    AND NOT EXISTS (SELECT FROM events WHERE tokens @@ quote_literal(token)::tsquery);
END
$$;
