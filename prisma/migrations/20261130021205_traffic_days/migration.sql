-- The sums of activity.traffic_hour by day (UTC): a read of a month has a twentieth of the rows to read. The panel adds up days in their
-- order, each in one statement and some days after its end, when its hours no longer change: all days from the first to the last are here.
CREATE TABLE activity.traffic_day (
  account_id uuid NOT NULL,
  at         timestamptz NOT NULL,
  project_id uuid NOT NULL,
  key_id     uuid NOT NULL,
  model      text NOT NULL,
  property   text NOT NULL CHECK (property IN ('outcome', 'first-content', 'duration')),
  value      text NOT NULL,
  requests   bigint NOT NULL CHECK (requests > 0),
  PRIMARY KEY (account_id, at, project_id, key_id, model, property, value)
);
-- For the first and the last day, for questions about all accounts, and for deleting.
CREATE INDEX traffic_day_at ON activity.traffic_day (at);
