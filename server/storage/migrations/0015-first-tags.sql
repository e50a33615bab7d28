-- The tags that rows of the channel's events show first, as a JSON array of their keys.
ALTER TABLE channels ADD COLUMN first_tags text NOT NULL DEFAULT '[]';
