-- Billing keeps accounts, projects and keys in memory between two batches, and a batch that is decided from memory has to find out whether
-- they have changed since. An account's row shows it by xmin, the transaction that wrote it last. A project's row does not: a batch that
-- was decided from an older read writes it too, without its settings. So a project has a version, which every change of what batches read
-- and do not write raises: its settings, and its keys. The triggers do it, because every service and every operator goes through them.

ALTER TABLE billing.project ADD COLUMN version bigint NOT NULL DEFAULT 0;

CREATE FUNCTION billing.raise_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.version := OLD.version + 1;
  RETURN NEW;
END
$$;

-- The columns that batches write are not named, so that the trigger costs them nothing.
CREATE TRIGGER project_raises_version BEFORE UPDATE OF account_id, enabled, requests_per_minute_max, concurrency_max, version ON billing.project
  FOR EACH ROW EXECUTE FUNCTION billing.raise_version();

-- With the rights of the owner: a key is revoked even by a user that may not write the version.
CREATE FUNCTION billing.raise_version_of_project() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '' AS $$
BEGIN
  UPDATE billing.project SET version = version + 1 WHERE id = OLD.project_id;
  RETURN NULL;
END
$$;

CREATE TRIGGER api_key_raises_version AFTER UPDATE OR DELETE ON billing.api_key
  FOR EACH ROW EXECUTE FUNCTION billing.raise_version_of_project();

-- Aborts a batch that takes reserves for new whose holds were settled before, or are open. The batch inserts those that it does not refuse,
-- and their primary key says whether they are open. A function, because its queries then have snapshots of their own: they see
-- what was committed while the batch waited for the lock of the account.
CREATE FUNCTION billing.demand_new(reserved uuid[], refused uuid[]) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM billing.settlement WHERE hold_id = ANY (reserved)) OR EXISTS (SELECT FROM billing.hold WHERE id = ANY (refused)) THEN
    RAISE EXCEPTION 'billing: a reserve was decided before' USING ERRCODE = 'assert_failure';
  END IF;
  RETURN true;
END
$$;
