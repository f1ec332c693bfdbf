-- Path, query and headers of the requests to an upstream, and capabilities of one model of it. Headers hold names of variables and files,
-- never a secret.

ALTER TABLE catalog.upstream ADD COLUMN path text, ADD COLUMN query jsonb, ADD COLUMN headers jsonb;
ALTER TABLE catalog.route ADD COLUMN capabilities jsonb;
