-- A version is now made of the board itself, as of everything else that two people can edit.
ALTER TABLE boards DROP COLUMN version;
