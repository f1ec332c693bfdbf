-- What depends on the id of a hold being unique over all accounts. Where the tables are distributed by account, the account is a part of their
-- keys, and these two functions are replaced: `demand_new` then looks among the holds of each account alone, and `used_elsewhere` returns nothing.

-- As `demand_new` without accounts, which older replicas use. Each id comes with its account.
CREATE FUNCTION billing.demand_new(reserved uuid[], reserved_of uuid[], refused uuid[], refused_of uuid[]) RETURNS boolean
  LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM billing.settlement WHERE hold_id = ANY (reserved)) OR EXISTS (SELECT FROM billing.hold WHERE id = ANY (refused)) THEN
    RAISE EXCEPTION 'billing: a reserve was decided before' USING ERRCODE = 'assert_failure';
  END IF;
  RETURN true;
END
$$;

-- Ids of holds, open or settled, that are of another account than the one named with them.
CREATE FUNCTION billing.used_elsewhere(holds uuid[], accounts uuid[]) RETURNS SETOF uuid LANGUAGE plpgsql STABLE AS $$
BEGIN
  RETURN QUERY SELECT r.hold_id FROM unnest(holds, accounts) AS r (hold_id, payer_id),
      LATERAL (SELECT account_id FROM billing.hold WHERE id = r.hold_id LIMIT 1) AS h
    WHERE h.account_id <> r.payer_id
    UNION ALL SELECT r.hold_id FROM unnest(holds, accounts) AS r (hold_id, payer_id),
      LATERAL (SELECT account_id FROM billing.settlement WHERE hold_id = r.hold_id LIMIT 1) AS s
    WHERE s.account_id <> r.payer_id;
END
$$;
