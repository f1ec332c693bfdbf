-- The last reports of the ledger check. Billing keeps 100 and deletes older ones.
CREATE TABLE billing.ledger_report (
  checked_at timestamptz PRIMARY KEY,
  report     jsonb NOT NULL
);
