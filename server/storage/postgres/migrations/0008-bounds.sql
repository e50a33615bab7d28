-- Deliveries refer to nothing: each reference is a look at another table for each of the rows that a notifying event makes, under the
-- lock that all events wait for, and the one to destinations needs an index. They go with their event, or by their age.
ALTER TABLE deliveries
  DROP CONSTRAINT deliveries_project_id_fkey,
  DROP CONSTRAINT deliveries_account_id_fkey,
  DROP CONSTRAINT deliveries_destination_id_fkey;
DROP INDEX deliveries_destination, deliveries_bell, deliveries_unread;
CREATE INDEX deliveries_bell ON deliveries (account_id, id, read_at) WHERE kind = 'dashboard';

-- Jobs that are done: the oldest of all, and of each project.
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX jobs_done ON jobs (project_id, id) WHERE ended_at IS NOT NULL;

-- A counter without a name counts the events of an hour whose names are not counted one by one (counted-names.ts). Events that are removed are not
-- taken from it: it goes with the last event of its hour.
CREATE INDEX counters_partial ON counters (project_id, hour) WHERE name = '';
CREATE FUNCTION remove_partial_counters() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
  DELETE FROM counters USING gone
    WHERE counters.project_id = gone.project_id AND counters.channel = gone.channel AND counters.hour = gone.hour AND counters.name = '';
  RETURN NULL;
END
$$;
CREATE TRIGGER counters_emptied AFTER DELETE ON channel_counters REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION remove_partial_counters();
