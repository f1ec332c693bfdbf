-- online: finds the movements after the last closed month.
CREATE INDEX CONCURRENTLY IF NOT EXISTS movement_transaction_id ON billing.movement USING brin (transaction_id, created_at) WITH (autosummarize = on);
