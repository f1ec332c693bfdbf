-- The journals of settlements are partitioned by month in three steps, none of which locks them for longer than a moment. This one limits
-- the ids of the tables, the next proves the limit while traffic runs, and the last makes each table the first partition of a new one. The
-- schema `journal` has the partitions. No service has rights on it: services read and write billing.settlement and billing.late_settlement.

CREATE SCHEMA journal;

-- Lowest id (UUIDv7) of a month, which is given as its first day: the ids of holds begin with the milliseconds of their time.
CREATE FUNCTION billing.first_id_of(month date) RETURNS uuid LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (lpad(to_hex((extract(epoch FROM month) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$$;

-- The limit is the end of the next month, so that the last step may come a month later. The constraint has the name of that month. Ids
-- beyond it are no UUIDv7 of their time: a journal that has some gets no limit, and becomes one partition for all months.
CREATE FUNCTION pg_temp.bound_journals() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  after date := date_trunc('month', now() AT TIME ZONE 'UTC') + interval '2 months';
  bound uuid := billing.first_id_of(after);
  month text := to_char(after - 1, 'YYYY_MM');
BEGIN
  EXECUTE format('ALTER TABLE billing.settlement ADD CONSTRAINT settlement_until_%s CHECK (hold_id < %L) NOT VALID', month, bound);
  EXECUTE format('ALTER TABLE billing.late_settlement ADD CONSTRAINT late_settlement_until_%s CHECK (hold_id < %L) NOT VALID', month, bound);
  IF EXISTS (SELECT FROM billing.settlement WHERE hold_id >= bound) THEN
    EXECUTE format('ALTER TABLE billing.settlement DROP CONSTRAINT settlement_until_%s', month);
    EXECUTE format('ALTER TABLE billing.late_settlement DROP CONSTRAINT late_settlement_until_%s', month);
  END IF;
END
$$;

SELECT pg_temp.bound_journals();
