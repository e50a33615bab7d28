-- Asks about many tokens in one statement: which of those of removed events are on other events still, and how many events users have.

-- How often it was doubted: an event that is removed while its tokens are being settled has them settled once more.
ALTER TABLE vocabulary_doubts ADD COLUMN times bigint NOT NULL DEFAULT 1;

-- Adds tokens of removed events to those in doubt. To be called while events are locked, lest two that add the same wait for each other.
CREATE FUNCTION doubt_tokens(in_tokens text[]) RETURNS void LANGUAGE sql SET enable_seqscan = off AS $$
  INSERT INTO vocabulary_doubts AS known (token) SELECT DISTINCT unnest(in_tokens)
    ON CONFLICT (token) DO UPDATE SET times = known.times + 1
$$;

-- Those of some tokens that are on no event.
--
-- Most that are doubted wrongly are common, and so on one of a project's newest events. The others are rare: the search index is asked for each, but not
-- before its list of what was added last is empty, as every search reads through that.
CREATE FUNCTION tokens_gone(in_tokens text[], newest_events integer) RETURNS text[] LANGUAGE plpgsql
SET enable_seqscan = off SET enable_indexscan = on AS $$
DECLARE
  used text[];
BEGIN
  PERFORM gin_clean_pending_list(indexrelid) FROM pg_inherits
    JOIN pg_index ON indrelid = inhrelid JOIN pg_class AS index ON index.oid = indexrelid JOIN pg_am ON pg_am.oid = index.relam
    WHERE inhparent = 'events'::regclass AND NOT inhdetachpending AND amname = 'gin' AND indisvalid;
  used := ARRAY(
    SELECT DISTINCT word
    FROM (SELECT DISTINCT substring(token FROM '^[0-9]+')::integer AS project_id FROM unnest(in_tokens) AS token) AS projects,
      LATERAL (SELECT tokens FROM events WHERE events.project_id = projects.project_id
        ORDER BY created_at DESC, id DESC LIMIT newest_events) AS newest,
      LATERAL unnest(tsvector_to_array(tokens)) AS word);
  -- Nobody knows yet which tokens these are, so rows could seem to be found sooner one after another.
  PERFORM set_config('enable_indexscan', 'off', true);
  RETURN ARRAY(
    SELECT token FROM (SELECT unnest(in_tokens) EXCEPT SELECT unnest(used)) AS doubted (token)
    WHERE NOT EXISTS (SELECT FROM events WHERE tokens @@ query_of_token(token)));
END
$$;

-- The query for a token, in which quotes and backslashes stand for themselves.
CREATE FUNCTION query_of_token(token text) RETURNS tsquery LANGUAGE sql IMMUTABLE AS $$
  SELECT ('''' || replace(replace(token, '\', '\\'), '''', '''''') || '''')::tsquery
$$;

-- How many events have each of some tokens, in their order, and of those that are to be shown, one of the events.
CREATE FUNCTION count_tokens(in_tokens text[], in_shown boolean[])
RETURNS TABLE (events bigint, created_at bigint, id uuid, body text)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_indexscan = off AS $$
BEGIN
  RETURN QUERY
    SELECT counted.events, one.created_at, one.id, one.body
    FROM unnest(in_tokens, in_shown) WITH ORDINALITY AS word (token, is_shown, n)
    CROSS JOIN LATERAL (SELECT count(*) AS events FROM events WHERE tokens @@ query_of_token(token)) AS counted
    LEFT JOIN LATERAL (
      SELECT events.created_at, events.id, events.body FROM events
      WHERE is_shown AND tokens @@ query_of_token(token) LIMIT 1) AS one ON true
    ORDER BY n;
END
$$;

DROP FUNCTION settle_doubts(text[], text[]);

-- Takes some tokens out of doubt, and out of the vocabulary those that are on no event. Gives how many were in doubt.
--
-- Events go on meanwhile, but for a last look at those that were stored since the first one.
CREATE FUNCTION settle_doubts(tokens_max integer, newest_events integer) RETURNS integer LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
  doubted text[];
  doubted_times bigint[];
  gone text[];
  last_seen bigint;
BEGIN
  SELECT array_agg(token), array_agg(times) INTO doubted, doubted_times
    FROM (SELECT token, times FROM vocabulary_doubts LIMIT tokens_max) AS step;
  IF doubted IS NULL THEN RETURN 0; END IF;
  SELECT max(arrival) INTO last_seen FROM events;
  gone := tokens_gone(doubted, newest_events);

  PERFORM lock_events();
  gone := ARRAY(
    SELECT unnest(gone) EXCEPT
    SELECT unnest(tsvector_to_array(tokens)) FROM events WHERE arrival > coalesce(last_seen, -1));
  DELETE FROM vocabulary_doubts USING unnest(doubted, doubted_times) AS settled (token, times)
    WHERE vocabulary_doubts.token = settled.token
      AND (vocabulary_doubts.times = settled.times OR vocabulary_doubts.token = ANY (gone));
  IF cardinality(gone) > 0 THEN
    PERFORM nextval('vocabulary_cuts');
    DELETE FROM vocabulary WHERE token = ANY (gone);
  END IF;
  RETURN cardinality(doubted);
END
$$;

-- Removes events by their places, with all that belongs to them; gives the ids of those that were still there.
CREATE OR REPLACE FUNCTION remove_events(in_project integer, in_created bigint[], in_ids uuid[], in_job text) RETURNS uuid[]
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

  PERFORM doubt_tokens(ARRAY(
    SELECT token FROM unnest(gone_tokens) AS list, string_to_table(list, ' ') AS token WHERE token ~ '^[0-9]+[eut]'));
  IF in_job IS NOT NULL THEN
    UPDATE jobs SET done = done + cardinality(gone_ids) WHERE id = in_job;
  END IF;
  RETURN gone_ids;
END
$$;

-- Clears away what belonged to the events on some pages of a table that was taken out, and gives their ids. It can be done twice. An id may have been sent again
-- meanwhile: what belongs to the event that has it now stays.
CREATE OR REPLACE FUNCTION clear_taken(taken text, from_page integer, to_page integer) RETURNS text[]
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
    WHERE word ~ '^[0-9]+[eut]');

  DELETE FROM deliveries USING unnest(projects, ids, arrived) AS gone (project_id, id, arrived_ms)
    WHERE event_id = gone.id::text AND deliveries.project_id = gone.project_id AND created_at <= arrived_ms;
  IF cardinality(tokens) > 0 OR EXISTS (
    SELECT FROM sent_ids JOIN unnest(projects, ids, created) AS gone (project_id, id, created_at) USING (project_id, id, created_at)
  ) THEN
    PERFORM lock_events();
    PERFORM doubt_tokens(tokens);
    DELETE FROM sent_ids USING unnest(projects, ids, created) AS gone (project_id, id, created_at)
      WHERE sent_ids.project_id = gone.project_id AND sent_ids.id = gone.id AND sent_ids.created_at = gone.created_at
        AND NOT EXISTS (
          SELECT FROM events
          WHERE events.project_id = gone.project_id AND events.created_at = gone.created_at AND events.id = gone.id);
  END IF;
  RETURN ids::text[];
END
$$;
