-- Stores events as 0002-events.sql says. What is kept of when events came is what their node's clock showed, now_ms: the order of arrival is ahead of
-- it where a clock was ahead once.
DROP PROCEDURE append_events;
CREATE PROCEDURE append_events(
  in_projects integer[], in_created bigint[], in_arrivals bigint[], in_ids uuid[], in_bodies text[], in_tokens text[],
  in_flags integer[], in_id_ms bigint[], in_all_flags integer, in_tie_of integer[], in_ties jsonb,
  sum_projects integer[], sum_channels text[], sum_names text[], sum_hours integer[], sum_events integer[], sum_last bigint[],
  in_new_tokens text[], in_cuts bigint, in_note text, now_ms bigint,
  OUT before_ms bigint, OUT before_sequence integer, OUT shift bigint, OUT cuts bigint, OUT news jsonb
) LANGUAGE plpgsql AS $$
DECLARE
  size integer := cardinality(in_created);
  before bigint;
  -- Of each event, whether it is not stored, and whether it notified somebody.
  is_left_out boolean[] := array_fill(false, ARRAY[size]);
  is_notified boolean[] := array_fill(false, ARRAY[size]);
  left_out integer := 0;
  notified integer := 0;
  places integer[];
  at integer;
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
      FOR at IN SELECT n FROM unnest(in_tie_of) WITH ORDINALITY AS t (tie_of, n) WHERE tie_of = place LOOP
        is_left_out[at] := true;
        left_out := left_out + 1;
      END LOOP;
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
      FROM unnest(in_projects, in_ids, in_id_ms, in_flags, is_left_out)
        WITH ORDINALITY AS sent (project_id, id, id_ms, flag, is_out, n)
      WHERE flag & 1 = 1 AND NOT is_out
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
      INTO places, found_news FROM doubles;
    IF found_news IS NOT NULL THEN
      FOREACH at IN ARRAY places LOOP is_left_out[at] := true; END LOOP;
      left_out := left_out + cardinality(places);
      news := news || found_news;
    END IF;
  END IF;

  IF in_all_flags & 4 <> 0 THEN
    WITH notifying AS MATERIALIZED (
      SELECT n, project_id, id::text AS event_id, least(arrival >> 20, now_ms) AS received_ms
      FROM unnest(in_projects, in_ids, in_arrivals, in_flags, is_left_out)
        WITH ORDINALITY AS t (project_id, id, arrival, flag, is_out, n)
      WHERE flag & 4 = 4 AND NOT is_out
    ), made AS (
      INSERT INTO deliveries (project_id, event_id, account_id, destination_id, kind, label, state, created_at,
                              next_attempt_at, delivered_at)
      SELECT project_id, event_id, members.account_id, destinations.id, kind, label,
             CASE kind WHEN 'dashboard' THEN 'delivered' ELSE 'waiting' END, received_ms,
             CASE kind WHEN 'dashboard' THEN NULL ELSE received_ms END, CASE kind WHEN 'dashboard' THEN received_ms END
      FROM notifying JOIN members USING (project_id) JOIN destinations USING (account_id)
      WHERE enabled = 1 ORDER BY n
      RETURNING project_id, event_id
    )
    SELECT coalesce(array_agg(n), '{}') INTO places
    FROM notifying WHERE EXISTS (SELECT FROM made WHERE made.project_id = notifying.project_id AND made.event_id = notifying.event_id);
    FOREACH at IN ARRAY places LOOP is_notified[at] := true; END LOOP;
    notified := cardinality(places);
    news := news || (SELECT coalesce(jsonb_agg(jsonb_build_array(n, 'notified')), '[]') FROM unnest(places) AS n);
  END IF;

  INSERT INTO events (created_at, arrival, id, project_id, notified, body, tokens)
    SELECT created_at, arrival + shift, id, project_id, flag & 8 = 8 OR is_told, body,
           array_to_tsvector(string_to_array(token_list, ' '))
    FROM unnest(in_created, in_arrivals, in_ids, in_projects, in_flags, in_bodies, in_tokens, is_notified, is_left_out)
      AS t (created_at, arrival, id, project_id, flag, body, token_list, is_told, is_out)
    WHERE NOT is_out;
  PERFORM note_late_events(in_projects, in_created, is_left_out);
  IF in_all_flags & 3 <> 0 THEN
    INSERT INTO sent_ids (project_id, id, created_at)
      SELECT project_id, id, created_at
      FROM unnest(in_projects, in_ids, in_created, in_flags, is_left_out) AS t (project_id, id, created_at, flag, is_out)
      WHERE flag & 3 <> 0 AND NOT is_out
      -- That of an event which went with its whole month, and is not cleared away yet (clear_taken).
      ON CONFLICT (project_id, id) DO UPDATE SET created_at = excluded.created_at;
  END IF;

  IF left_out > 0 THEN
    SELECT array_agg(project_id), array_agg(channel), array_agg(name), array_agg(hour), array_agg(events), array_agg(last_ms)
      INTO sum_projects, sum_channels, sum_names, sum_hours, sum_events, sum_last
      FROM (
        SELECT project_id, event ->> 'channelId' AS channel, event ->> 'name' AS name, (created_at / 3600000)::integer AS hour,
          count(*)::integer AS events, max(created_at) AS last_ms
        FROM (
          SELECT project_id, created_at, ('{' || body || '}')::json AS event
          FROM unnest(in_projects, in_created, in_bodies, is_left_out) AS t (project_id, created_at, body, is_out)
          WHERE NOT is_out) AS stored
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
  IF left_out < size THEN
    PERFORM pg_notify(arrivals_channel(), format('{%s,"before":"%s","last":"%s","notified":%s}',
      in_note, before, in_arrivals[size] + shift, (notified > 0)::text));
  END IF;
END
$$;
