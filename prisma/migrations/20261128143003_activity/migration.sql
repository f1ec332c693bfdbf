-- What happened to each request to a model, as the gateways report it; never what it cost. The panel writes it. Nothing here is a journal:
-- rows of a time in which no panel ran are missing, and old ones are deleted.

CREATE SCHEMA activity;

-- One row for each request with a valid key, in one partition a day (UTC).
CREATE TABLE activity.request (
  -- The time in the request id, so that the id alone finds the partition.
  received_at timestamptz NOT NULL,
  request_id  text NOT NULL,
  -- An account of billing.
  account_id  uuid NOT NULL,
  -- The request as its gateway reported it.
  details     jsonb NOT NULL,
  PRIMARY KEY (received_at, request_id)
) PARTITION BY RANGE (received_at);

-- Number of requests that ended in a minute, by one property at a time:
--   outcome        `<HTTP status>`, or `<HTTP status> <code>`: every request
--   first-content  bucket of the milliseconds to the first content: completed streams
--   duration       bucket of the milliseconds to the end: completed requests
-- Requests without a valid key have the account, project and key 00000000-…; without a known model the model is empty.
CREATE TABLE activity.traffic_minute (
  account_id uuid NOT NULL,
  at         timestamptz NOT NULL,
  project_id uuid NOT NULL,
  key_id     uuid NOT NULL,
  model      text NOT NULL,
  property   text NOT NULL CHECK (property IN ('outcome', 'first-content', 'duration')),
  value      text NOT NULL,
  requests   bigint NOT NULL CHECK (requests > 0),
  PRIMARY KEY (account_id, at, project_id, key_id, model, property, value)
) WITH (fillfactor = 80);

-- The same by hour.
CREATE TABLE activity.traffic_hour (
  account_id uuid NOT NULL,
  at         timestamptz NOT NULL,
  project_id uuid NOT NULL,
  key_id     uuid NOT NULL,
  model      text NOT NULL,
  property   text NOT NULL CHECK (property IN ('outcome', 'first-content', 'duration')),
  value      text NOT NULL,
  requests   bigint NOT NULL CHECK (requests > 0),
  PRIMARY KEY (account_id, at, project_id, key_id, model, property, value)
) WITH (fillfactor = 80);

-- For questions about all accounts, and for deleting. Rows come in the order of time.
CREATE INDEX traffic_minute_at ON activity.traffic_minute USING brin (at);
CREATE INDEX traffic_hour_at ON activity.traffic_hour USING brin (at);

-- Times in which a panel recorded. Each replica moves the end of its own row; what no row covers is a gap.
CREATE TABLE activity.recording (
  id        uuid PRIMARY KEY,
  starts_at timestamptz NOT NULL,
  ends_at   timestamptz NOT NULL,
  CONSTRAINT recording_ends_after_start CHECK (ends_at >= starts_at)
);
CREATE INDEX recording_ends_at ON activity.recording (ends_at);

-- Makes the partitions from yesterday to the day after tomorrow, and deletes what is too old. With the rights of the owner, because the
-- panel may neither create nor drop a table. Replicas call it at the same time.
CREATE FUNCTION activity.keep_days(days integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
DECLARE
  today date := (now() AT TIME ZONE 'UTC')::date;
  day date;
  part name;
BEGIN
  IF days NOT BETWEEN 1 AND 400 THEN
    RAISE EXCEPTION 'activity.keep_days: % is not between 1 and 400', days USING ERRCODE = 'invalid_parameter_value';
  END IF;
  PERFORM pg_advisory_xact_lock(7243010);
  FOR ahead IN -1..2 LOOP
    day := today + ahead;
    part := 'request_' || to_char(day, 'YYYYMMDD');
    IF to_regclass(format('activity.%I', part)) IS NULL THEN
      EXECUTE format('CREATE TABLE activity.%I PARTITION OF activity.request FOR VALUES FROM (%L) TO (%L)',
        part, day::text || ' 00:00:00+00', (day + 1)::text || ' 00:00:00+00');
    END IF;
  END LOOP;
  FOR part IN
    SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'activity.request'::regclass AND c.relname < 'request_' || to_char(today - days, 'YYYYMMDD')
  LOOP
    EXECUTE format('DROP TABLE activity.%I', part);
  END LOOP;
  DELETE FROM activity.traffic_minute WHERE at < now() - interval '2 days';
  DELETE FROM activity.traffic_hour WHERE at < now() - interval '400 days';
  DELETE FROM activity.recording WHERE ends_at < now() - interval '400 days';
END
$$;

REVOKE ALL ON FUNCTION activity.keep_days(integer) FROM PUBLIC;
