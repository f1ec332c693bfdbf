-- The texts of the revisions, and prices that take effect at a time.

-- The YAML text that was applied last at a revision. catalog.audit has the author and the changes. Revisions before this migration have no row.
CREATE TABLE catalog.revision_text (
  revision integer PRIMARY KEY CHECK (revision >= 0),
  yaml     text NOT NULL
);

CREATE TRIGGER revision_text_is_never_deleted BEFORE DELETE OR TRUNCATE ON catalog.revision_text
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();

-- Pico-USD a token. A row waits until it has a revision or is cancelled.
CREATE TABLE catalog.scheduled_price (
  id                 uuid PRIMARY KEY,
  model_id           text NOT NULL REFERENCES catalog.model (id),
  input_price        bigint NOT NULL CHECK (input_price >= 0),
  cached_input_price bigint NOT NULL CHECK (cached_input_price >= 0),
  output_price       bigint NOT NULL CHECK (output_price >= 0),
  effective_at       timestamptz NOT NULL,
  created_at         timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The revision that it made at its time, or found with its price.
  revision           integer CHECK (revision > 0),
  cancelled_at       timestamptz,
  CONSTRAINT scheduled_price_applied_or_cancelled CHECK (revision IS NULL OR cancelled_at IS NULL)
);

CREATE TRIGGER scheduled_price_is_never_deleted BEFORE DELETE OR TRUNCATE ON catalog.scheduled_price
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();

-- Refuses the commit of a scheduled, applied or cancelled price without an audit row of the same transaction that names it or its revision.
CREATE FUNCTION catalog.demand_price_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM catalog.audit a WHERE a.target IN ('price/' || NEW.id, 'revision/' || NEW.revision)
      AND a.xmin = pg_current_xact_id()::xid) THEN
    RAISE EXCEPTION 'catalog.% was changed without an audit row', TG_TABLE_NAME
      USING ERRCODE = 'check_violation', CONSTRAINT = TG_NAME, HINT = 'Call catalog.record_audit in the same transaction.';
  END IF;
  RETURN NULL;
END
$$;

CREATE CONSTRAINT TRIGGER scheduled_price_is_audited AFTER INSERT OR UPDATE ON catalog.scheduled_price DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION catalog.demand_price_audit();
