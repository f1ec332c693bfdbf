-- online: finds budgets whose window is over, also of accounts without requests. Batches change no end of a window.
CREATE INDEX CONCURRENTLY IF NOT EXISTS budget_window_end ON billing.budget (window_end) WHERE dimension IS NULL;
