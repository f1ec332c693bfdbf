-- As the function without accounts, which older replicas use, and looks for each hold among those of its account alone: a database that is
-- distributed by account asks one shard for each.
CREATE FUNCTION billing.demand_new(reserved uuid[], accounts uuid[], opened boolean[]) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (
    SELECT FROM unnest(reserved, accounts) AS r (hold_id, payer_id),
      LATERAL (SELECT FROM billing.settlement WHERE hold_id = r.hold_id AND account_id = r.payer_id LIMIT 1) AS s
  ) OR EXISTS (
    SELECT FROM unnest(reserved, accounts, opened) AS r (hold_id, payer_id, opens),
      LATERAL (SELECT FROM billing.hold WHERE id = r.hold_id AND account_id = r.payer_id LIMIT 1) AS h
    WHERE NOT r.opens
  ) THEN
    RAISE EXCEPTION 'billing: a reserve was decided before' USING ERRCODE = 'assert_failure';
  END IF;
  RETURN true;
END
$$;
