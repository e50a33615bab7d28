-- Segments of the full-text index are merged by merging.ts, in smaller steps.
INSERT INTO events_index (events_index, rank) VALUES ('automerge', 0);
