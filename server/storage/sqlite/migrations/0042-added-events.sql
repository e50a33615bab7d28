-- How many of a block's changes are events that were added (storage/block.ts). Of those so far, it is not known.
ALTER TABLE blocks ADD COLUMN added INTEGER NOT NULL DEFAULT 0;
UPDATE blocks SET added = changed;
