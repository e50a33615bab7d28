-- Deliveries refer to nothing: each reference is a look at another table for each of the rows that a notifying event makes, under the
-- lock that all events wait for, and the one to destinations needs an index. They go with their event, or by their age.
ALTER TABLE deliveries
  DROP CONSTRAINT deliveries_project_id_fkey,
  DROP CONSTRAINT deliveries_account_id_fkey,
  DROP CONSTRAINT deliveries_destination_id_fkey;
DROP INDEX deliveries_destination;

-- Jobs that are done: the oldest of all, and of each project.
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX jobs_done ON jobs (project_id, id) WHERE ended_at IS NOT NULL;
