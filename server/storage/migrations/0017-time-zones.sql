-- The time zone of a project's days and times; null: of each person's browser.
ALTER TABLE projects ADD COLUMN time_zone text;
