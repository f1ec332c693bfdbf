-- Finds the newest slice of the journals, and a short time range of all accounts. A BRIN index has one entry for each 128 pages, so it costs
-- an insert next to nothing. A migration of its own, because writes wait while it scans the journals: about a second for a million rows.
CREATE INDEX settlement_transaction_id ON billing.settlement USING brin (transaction_id, settled_at) WITH (autosummarize = on);
CREATE INDEX late_settlement_transaction_id ON billing.late_settlement USING brin (transaction_id, settled_at) WITH (autosummarize = on);
