-- As before, but never by the index of arrivals. In a plan for any in_above, PostgreSQL expects a third of the events to be
-- later, and so read that whole index for each token: ten seconds for a page of users of three million events.
CREATE OR REPLACE FUNCTION count_tokens(in_tokens text[], in_shown boolean[], in_above bigint)
RETURNS TABLE (events bigint, created_at bigint, id uuid, body text)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_indexscan = off AS $$
BEGIN
  RETURN QUERY
    SELECT counted.events, one.created_at, one.id, one.body
    FROM unnest(in_tokens, in_shown) WITH ORDINALITY AS word (token, is_shown, n)
    CROSS JOIN LATERAL (
      SELECT count(*) AS events FROM events WHERE tokens @@ query_of_token(token) AND arrival + 0 > in_above) AS counted
    LEFT JOIN LATERAL (
      SELECT events.created_at, events.id, events.body FROM events
      WHERE is_shown AND tokens @@ query_of_token(token) AND arrival + 0 > in_above LIMIT 1) AS one ON true
    ORDER BY n;
END
$$;
