-- Grows with every change of the project's people that isn't one of their properties: their counted events, and who is
-- who. A cohort whose project has the same number as when it was computed is still right.
ALTER TABLE user_activity_positions ADD COLUMN changes INTEGER NOT NULL DEFAULT 0;

-- The same for properties. Each change adds to one of a few rows, so that few requests wait for each other's commit.
CREATE TABLE property_changes (
  project_id INTEGER NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  slot INTEGER NOT NULL,
  changes INTEGER NOT NULL,
  PRIMARY KEY (project_id, slot)
) WITHOUT ROWID;

-- The sum of both when the members were computed; null if they must be computed again.
ALTER TABLE cohorts ADD COLUMN computed_changes INTEGER;
-- When the members may change by time alone, because events get older; null if they can't.
ALTER TABLE cohorts ADD COLUMN changes_at INTEGER;
