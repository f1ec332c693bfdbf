-- The policy that is asked before a request of the project makes its hold: its name, its deadline, what counts when it fails, and whether it gets the text.
ALTER TABLE billing.project ADD COLUMN policy jsonb;
CREATE CONSTRAINT TRIGGER project_policy_is_audited AFTER UPDATE OF policy ON billing.project DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.policy IS DISTINCT FROM NEW.policy) EXECUTE FUNCTION billing.demand_audit('project');
