-- As before, and late_events has the timestamps of removed events, too.
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
      -- A block with more changes is not used (storage/block.ts).
      WHERE changed + went <= 256
      ON CONFLICT DO NOTHING
  )
  UPDATE blocks SET changed = changed + went FROM sums WHERE blocks.id = sums.id
$$;

-- Blocks from which it lacks some are built again.
UPDATE blocks SET changed = changed + 257 WHERE changed > 0;
