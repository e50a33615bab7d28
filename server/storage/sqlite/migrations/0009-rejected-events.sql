-- Events that are not accepted are called rejected everywhere.
ALTER TABLE refused_events RENAME TO rejected_events;
ALTER TABLE rejected_events RENAME COLUMN refused_at TO rejected_at;
DROP INDEX refused_events_project;
CREATE INDEX rejected_events_project ON rejected_events (project_id, id);

UPDATE jobs SET detail = replace(detail, '"erasedRefusedEvents"', '"erasedRejectedEvents"');
