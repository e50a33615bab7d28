-- Events without a user have a token that says so (storage/tokens.ts), also those that are here already.
UPDATE events SET tokens = tokens || array_to_tsvector(ARRAY[project_id || 'o']) WHERE strpos(body, '"userId":""') > 0;
-- Digests do not know it: more changes than those with which one is of use have them made anew (storage/block.ts).
UPDATE blocks SET changed = 257;

-- What append_events (0007-clock.sql) leaves out of a batch is told by a mark for each of its events. A list of places was gone through for each of
-- them, while events are locked: for 5,000 that were sent again, that took most of the time.
DROP FUNCTION note_late_events;
CREATE FUNCTION note_late_events(in_projects integer[], in_created bigint[], is_left_out boolean[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM blocks WHERE to_ms > (SELECT min(created_at) FROM unnest(in_created) AS created_at)) THEN
    RETURN;
  END IF;
  WITH late AS MATERIALIZED (
    SELECT block.id, created_at
    FROM unnest(in_projects, in_created, is_left_out) AS t (project_id, created_at, is_out)
    CROSS JOIN LATERAL (
      SELECT id, to_ms, changed FROM blocks
      WHERE blocks.project_id = t.project_id AND from_ms <= t.created_at ORDER BY from_ms DESC LIMIT 1) AS block
    -- Of one with more changes than these, the digest is of no use (storage/block.ts).
    WHERE created_at < block.to_ms AND block.changed <= 256 AND NOT is_out
  ), noted AS (
    INSERT INTO late_events (block, created_at) SELECT DISTINCT id, created_at FROM late ON CONFLICT DO NOTHING
  )
  UPDATE blocks SET changed = changed + came
    FROM (SELECT id, count(*) AS came FROM late GROUP BY id) AS sums WHERE blocks.id = sums.id;
END
$$;
