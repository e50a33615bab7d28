-- The event with which a visit was entered, instead of whether it was. So a view that is sent again, because the response
-- was lost, is still the entry.
ALTER TABLE website_visits DROP COLUMN entered;
ALTER TABLE website_visits ADD COLUMN entry_id text {{binary}};
