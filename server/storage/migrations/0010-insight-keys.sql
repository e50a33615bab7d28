-- The API key that set a value last; null if a member did.
ALTER TABLE insights ADD COLUMN key_id text {{binary}};
