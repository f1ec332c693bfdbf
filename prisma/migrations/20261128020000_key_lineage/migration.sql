-- Budgets and limits of a key are those of all keys that rotations made from it.
--
-- Billing replicas of the version before give a new key no root: a rotation that they make begins new budgets and limits, as before. They do
-- not count requests of a key with a root towards those of the root: rotate the first key when they are replaced.
--
-- NOT VALID: every existing row has no root.

ALTER TABLE billing.api_key
  -- First key of its rotations, which budgets and limits name. Null: the key itself.
  ADD COLUMN root_key_id uuid,
  ADD CONSTRAINT api_key_root_key_id_fkey FOREIGN KEY (root_key_id) REFERENCES billing.api_key (id) NOT VALID,
  ADD CONSTRAINT api_key_root_is_another CHECK (root_key_id <> id) NOT VALID;

-- As before, except that the limits of a key may be changed by the name of any key of its rotations.
CREATE OR REPLACE FUNCTION billing.demand_audit() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  changed text := coalesce(NEW.id, OLD.id)::text;
BEGIN
  IF EXISTS (SELECT FROM billing.audit WHERE target = TG_ARGV[0] || '/' || changed AND xmin = pg_current_xact_id()::xid) THEN
    RETURN NULL;
  END IF;
  IF TG_TABLE_NAME = 'rate_limit' THEN
    IF EXISTS (
      SELECT FROM billing.api_key k JOIN billing.audit a ON a.target = 'key/' || k.id AND a.xmin = pg_current_xact_id()::xid
      WHERE k.root_key_id = changed::uuid) THEN
      RETURN NULL;
    END IF;
  END IF;
  RAISE EXCEPTION 'billing: %/% was changed without an audit row', TG_ARGV[0], changed
    USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, HINT = 'Call billing.record_audit in the same transaction.';
END
$$;
