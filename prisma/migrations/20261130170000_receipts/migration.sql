-- Receipts of closed months: a tree over each account's settlements, and one over the accounts, whose root is signed.

-- Tells installations apart. A copy of the database is the same installation.
CREATE TABLE billing.installation (
  one boolean PRIMARY KEY DEFAULT true CHECK (one),
  id  uuid NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO billing.installation DEFAULT VALUES;

-- What an account's month is made of. `requests` and `cost` are those of its statement. `root` is that of the tree over its receipts, `path`
-- leads from there to the root of the month.
CREATE TABLE billing.month_receipt (
  month            text COLLATE "C" NOT NULL,
  account_id       uuid NOT NULL,
  requests         bigint NOT NULL,
  late_settlements bigint NOT NULL,
  cost             numeric(38, 0) NOT NULL,
  root             text COLLATE "C" NOT NULL,
  path             text[] NOT NULL,
  PRIMARY KEY (month, account_id)
);

-- Roots of every 1,024 receipts of an account's month, with the first of them: a path reads one part instead of the month.
CREATE TABLE billing.month_receipt_part (
  month      text COLLATE "C" NOT NULL,
  account_id uuid NOT NULL,
  part       integer NOT NULL,
  from_at    timestamptz NOT NULL,
  from_id    uuid NOT NULL,
  from_late  boolean NOT NULL,
  root       text COLLATE "C" NOT NULL,
  PRIMARY KEY (month, account_id, part)
);

-- The text that is signed for each month.
CREATE TABLE billing.month_line (
  month text COLLATE "C" PRIMARY KEY,
  line  text NOT NULL
);
CREATE TABLE billing.month_signature (
  month     text COLLATE "C" NOT NULL,
  key_id    text COLLATE "C" NOT NULL,
  signature text NOT NULL,
  PRIMARY KEY (month, key_id)
);

-- Public keys, those that were replaced too.
CREATE TABLE billing.receipt_key (
  id         text COLLATE "C" PRIMARY KEY,
  public_key text NOT NULL,
  added_at   timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TRIGGER installation_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.installation
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER month_receipt_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.month_receipt
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER month_receipt_part_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.month_receipt_part
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER month_line_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.month_line
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER month_signature_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.month_signature
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
CREATE TRIGGER receipt_key_is_immutable BEFORE UPDATE OR DELETE OR TRUNCATE ON billing.receipt_key
  FOR EACH STATEMENT EXECUTE FUNCTION billing.refuse_change();
