-- Renames the reason in the rows written so far. A migration of its own, because the one before locks the journals until it commits, and
-- this one reads all of their rows. Rows that billing services of the version before write later keep the old name: readers map it.
--
-- The journals refuse every UPDATE. The function that refuses is replaced and restored within this transaction, so that no other session
-- ever sees it permit one; dropping the triggers would lock the journals.

CREATE OR REPLACE FUNCTION billing.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RETURN NULL;
END
$$;

UPDATE billing.settlement SET reason = 'client-disconnected' WHERE reason = 'client-left';
UPDATE billing.late_settlement SET reason = 'client-disconnected' WHERE reason = 'client-left';

CREATE OR REPLACE FUNCTION billing.refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'billing.% is a journal: % refused', TG_TABLE_NAME, TG_OP USING ERRCODE = 'restrict_violation';
END
$$;
