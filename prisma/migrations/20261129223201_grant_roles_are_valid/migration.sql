-- online
ALTER TABLE panel.grant VALIDATE CONSTRAINT grant_role_fits_scope;
