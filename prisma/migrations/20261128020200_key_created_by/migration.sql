-- Who made a key, by name or else as in billing.audit. Null: it is older than the column, or made by a version without it.
ALTER TABLE billing.api_key
  ADD COLUMN created_by text;
