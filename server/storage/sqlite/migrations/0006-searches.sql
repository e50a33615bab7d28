-- Events beyond the first 256 of a millisecond (of those that the server dated, and of those that clients dated), in the order of listings:
-- a page begins among them without reading all. In few databases there are any.
CREATE INDEX events_busy ON events (project_id, position >> 21, id) WHERE position & 1048575 >= 256;

-- Milliseconds with more than 256 events that clients dated, whose ids do not rise with their positions (append.ts). Of those that are here already,
-- nobody knows.
CREATE TABLE unsorted_ms (ms INTEGER PRIMARY KEY);
INSERT INTO unsorted_ms SELECT DISTINCT position >> 21 FROM events INDEXED BY events_busy WHERE position & 1048575 >= 256;

-- Events without a user have a token that says so, also those that are here already (index-no-user.ts). Digests do not know it: more changes than those
-- with which one is of use have them made anew (storage/block.ts).
UPDATE blocks SET changed = 257;
