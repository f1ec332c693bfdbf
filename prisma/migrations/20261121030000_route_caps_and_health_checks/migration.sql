-- What one replica of the proxy may have under way on a route (null: no limit but its upstream's), and how it asks an upstream
-- whether it is well (null: not at all).
ALTER TABLE catalog.route ADD COLUMN concurrency_max integer CHECK (concurrency_max > 0);
ALTER TABLE catalog.upstream ADD COLUMN health_check jsonb;
