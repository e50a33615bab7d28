-- Events without a user have a token that says so (storage/tokens.ts), also those that are here already.
UPDATE events SET tokens = tokens || array_to_tsvector(ARRAY[project_id || 'o']) WHERE strpos(body, '"userId":""') > 0;
-- Digests do not know it: more changes than those with which one is of use have them made anew (storage/block.ts).
UPDATE blocks SET changed = 257;
