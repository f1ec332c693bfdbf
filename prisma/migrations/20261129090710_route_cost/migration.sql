-- What the operator pays an upstream for a model, from a day in UTC up to the next one; the newest row is the current cost price. In the form of
-- the messages. Null: no longer known.
CREATE TABLE catalog.route_cost (
  model_id    text NOT NULL REFERENCES catalog.model (id),
  upstream_id text NOT NULL REFERENCES catalog.upstream (id),
  from_day    date NOT NULL,
  price       jsonb,
  PRIMARY KEY (model_id, upstream_id, from_day)
);

CREATE TRIGGER route_cost_is_never_deleted BEFORE DELETE OR TRUNCATE ON catalog.route_cost
  FOR EACH STATEMENT EXECUTE FUNCTION catalog.refuse_change();
CREATE CONSTRAINT TRIGGER route_cost_is_audited AFTER INSERT OR UPDATE OR DELETE ON catalog.route_cost DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW EXECUTE FUNCTION catalog.demand_audit();
