-- What a tenants file owns, by its source. A table of its own: a mark changes no row that requests read. One of a thing that is gone stays
-- until the file is applied again.
CREATE TABLE billing.managed (
  kind       text NOT NULL,
  -- The first key of its rotations for a key.
  id         uuid NOT NULL,
  account_id uuid NOT NULL,
  source     text NOT NULL,
  PRIMARY KEY (kind, id)
);
CREATE INDEX managed_account_id ON billing.managed (account_id);
-- For the accounts of a source.
CREATE INDEX managed_source ON billing.managed (source) WHERE kind = 'account';
