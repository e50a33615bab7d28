-- Events beyond the first 256 of a millisecond (of those that the server dated, and of those that clients dated), in the order of listings:
-- a page begins among them without reading all. In few databases there are any.
CREATE INDEX events_busy ON events (project_id, position >> 21, id) WHERE position & 1048575 >= 256;

-- Events without a user have a token that says so, also those that are here already (index-no-user.ts). Digests do not know it: more changes than those
-- with which one is of use have them made anew (storage/block.ts).
UPDATE blocks SET changed = 257;
