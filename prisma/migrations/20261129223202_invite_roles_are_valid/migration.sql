-- online
ALTER TABLE panel.invite VALIDATE CONSTRAINT invite_role_fits_scope;
