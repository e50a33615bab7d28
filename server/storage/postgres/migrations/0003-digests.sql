-- Blocks: ranges of time whose events of one project are digested. A digest says of each token that is not rare there which of the
-- block's events have it, so that a query of common tokens needs not go through the index to find that they never meet.
CREATE TABLE blocks (
  -- Of no other block ever, so that what was read of one is never taken for another's.
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  project_id integer NOT NULL,
  -- Milliseconds since 1970: the first, and the one after the last.
  from_ms bigint NOT NULL,
  to_ms bigint NOT NULL,
  -- How many events were digested; null until all are.
  events integer,
  -- How many came or went since the digest was begun, and when that was.
  changed integer NOT NULL DEFAULT 0,
  begun_at bigint NOT NULL,
  -- The node that makes it, and when it last did a step.
  maker uuid,
  stepped_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (project_id, from_ms)
) WITH (fillfactor = 70);
CREATE INDEX blocks_end ON blocks (to_ms);

-- When a block's events happened, some thousands in a row; their ordinals are their places in the order of listings.
CREATE TABLE block_moments (
  block bigint NOT NULL,
  -- The ordinal of the first, its millisecond, and the gaps to the others' (storage/bits.ts).
  first integer NOT NULL,
  ms bigint NOT NULL,
  gaps bytea NOT NULL,
  PRIMARY KEY (block, first)
) WITH (toast_tuple_target = 8160);

-- The ordinals of the events that have a token (storage/bits.ts).
CREATE TABLE block_tokens (
  block bigint NOT NULL,
  token text COLLATE "C" NOT NULL,
  ordinals bytea NOT NULL,
  PRIMARY KEY (block, token)
) WITH (toast_tuple_target = 8160);

-- Bits that mean something don't get shorter; and a row is read in one piece.
ALTER TABLE block_moments ALTER COLUMN gaps SET STORAGE EXTERNAL;
ALTER TABLE block_tokens ALTER COLUMN ordinals SET STORAGE EXTERNAL;

-- When events happened that were stored within a block after its digest was begun.
CREATE TABLE late_events (
  block bigint NOT NULL,
  created_at bigint NOT NULL,
  PRIMARY KEY (block, created_at)
);

-- Tells blocks of events that are stored within them. To be called while events are locked, as the next one.
CREATE FUNCTION note_late_events(in_projects integer[], in_created bigint[], left_out integer[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM blocks WHERE to_ms > (SELECT min(created_at) FROM unnest(in_created) AS created_at)) THEN
    RETURN;
  END IF;
  WITH late AS MATERIALIZED (
    SELECT block.id, created_at
    FROM unnest(in_projects, in_created) WITH ORDINALITY AS t (project_id, created_at, n)
    CROSS JOIN LATERAL (
      SELECT id, to_ms, changed FROM blocks
      WHERE blocks.project_id = t.project_id AND from_ms <= t.created_at ORDER BY from_ms DESC LIMIT 1) AS block
    -- Of one with more changes than these, the digest is of no use (storage/block.ts).
    WHERE created_at < block.to_ms AND block.changed <= 256 AND n <> ALL (left_out)
  ), noted AS (
    INSERT INTO late_events (block, created_at) SELECT DISTINCT id, created_at FROM late ON CONFLICT DO NOTHING
  )
  UPDATE blocks SET changed = changed + came
    FROM (SELECT id, count(*) AS came FROM late GROUP BY id) AS sums WHERE blocks.id = sums.id;
END
$$;

-- Tells blocks of events that were removed from them.
CREATE FUNCTION note_gone_events(in_project integer, in_created bigint[]) RETURNS void
LANGUAGE sql SET enable_seqscan = off AS $$
  UPDATE blocks SET changed = changed + went
    FROM (
      SELECT block.id, count(*) AS went FROM unnest(in_created) AS created_at
      CROSS JOIN LATERAL (
        SELECT id, to_ms FROM blocks
        WHERE blocks.project_id = in_project AND from_ms <= created_at ORDER BY from_ms DESC LIMIT 1) AS block
      WHERE created_at < block.to_ms GROUP BY 1) AS sums
    WHERE blocks.id = sums.id
$$;

-- Begins a block; gives null where another is there. What is stored from now on is told to it.
CREATE FUNCTION begin_block(in_project integer, in_from bigint, in_to bigint, in_maker uuid, now_ms bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
  made bigint;
BEGIN
  PERFORM lock_events();
  IF EXISTS (SELECT FROM blocks WHERE project_id = in_project AND from_ms < in_to AND to_ms > in_from) THEN RETURN NULL; END IF;
  INSERT INTO blocks (project_id, from_ms, to_ms, maker, begun_at) VALUES (in_project, in_from, in_to, in_maker, now_ms)
    RETURNING id INTO made;
  RETURN made;
END
$$;

-- Adds to a digest; false where its maker was thought to be gone, and the block with it, or where so much changed meanwhile that it
-- would be of no use (storage/block.ts).
CREATE FUNCTION keep_digest(
  in_block bigint, in_maker uuid, in_firsts integer[], in_ms bigint[], in_gaps bytea[], in_tokens text[], in_ordinals bytea[]
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  UPDATE blocks SET stepped_at = now() WHERE id = in_block AND maker = in_maker AND changed <= 256;
  IF NOT FOUND THEN RETURN false; END IF;
  INSERT INTO block_moments (block, first, ms, gaps) SELECT in_block, * FROM unnest(in_firsts, in_ms, in_gaps);
  INSERT INTO block_tokens (block, token, ordinals) SELECT in_block, * FROM unnest(in_tokens, in_ordinals);
  RETURN true;
END
$$;

-- Deletes a block: first what is much, which nobody waits for, then what events are told to.
CREATE FUNCTION retire_block(in_block bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM lock_events();
  DELETE FROM late_events WHERE block = in_block;
  DELETE FROM blocks WHERE id = in_block;
END
$$;

CREATE FUNCTION empty_block(in_block bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  UPDATE blocks SET events = NULL, maker = NULL WHERE id = in_block;
  DELETE FROM block_tokens WHERE block = in_block;
  DELETE FROM block_moments WHERE block = in_block;
END
$$;
