-- Keys that end at a time, can be switched off, and are replaced by another.
--
-- Billing replicas of the version before do not know the new columns: until they are replaced, they accept keys that are disabled or
-- expired. The triggers of the table need no change: each update of a key raises the version of its project and needs an audit row.

ALTER TABLE billing.api_key
  ADD COLUMN note        text CHECK (char_length(note) BETWEEN 1 AND 1000),
  ADD COLUMN disabled    boolean NOT NULL DEFAULT false,
  -- The key is refused from this moment on.
  ADD COLUMN expires_at  timestamptz,
  -- Key that a rotation made in its place.
  ADD COLUMN replaced_by uuid REFERENCES billing.api_key (id),
  ADD CONSTRAINT api_key_replaced_by_another CHECK (replaced_by <> id),
  ADD CONSTRAINT api_key_replaced_key_ends CHECK (replaced_by IS NULL OR expires_at IS NOT NULL);
