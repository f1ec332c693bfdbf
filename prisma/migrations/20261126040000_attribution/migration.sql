-- End user, client, session and tags of a request: an object of texts, which comes with the reserve. Null: the request named none.
--
-- NOT VALID: no existing row has an attribution or a tag.

ALTER TABLE billing.hold
  ADD COLUMN attribution jsonb,
  ADD CONSTRAINT hold_attribution_is_an_object CHECK (jsonb_typeof(attribution) = 'object' AND attribution <> '{}') NOT VALID;

-- Copied from the hold.
ALTER TABLE billing.settlement ADD COLUMN attribution jsonb;

-- Names of `metadata` pairs that are tags of the project's requests. Gateways keep them with the key.
ALTER TABLE billing.project
  ADD COLUMN tags text[] NOT NULL DEFAULT '{}',
  ADD CONSTRAINT project_tags_in_bounds
    CHECK (cardinality(tags) <= 16 AND array_to_string(tags || ''::text, '/', '*') ~ '^([A-Za-z0-9][A-Za-z0-9._-]{0,63}/)*$') NOT VALID;

CREATE CONSTRAINT TRIGGER project_tags_are_audited AFTER UPDATE OF tags ON billing.project DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.tags IS DISTINCT FROM NEW.tags) EXECUTE FUNCTION billing.demand_audit('project');
