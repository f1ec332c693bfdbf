-- online
CREATE INDEX CONCURRENTLY IF NOT EXISTS audit_target ON panel.audit (target, id);
