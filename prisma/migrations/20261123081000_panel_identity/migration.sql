-- Sign-in with OpenID Connect.

-- Null: the person has no password and signs in with a provider.
ALTER TABLE panel."user" ALTER COLUMN password_hash DROP NOT NULL;

-- Issuer whose groups gave the role. Null: a person did. Sign-ins with an issuer change its own roles alone.
ALTER TABLE panel."grant" ADD COLUMN issuer text;

-- A person as an issuer knows them. One subject of an issuer is one person, and a person is one subject of it: a provider that gives an
-- e-mail address to another subject does not give that subject the person.
CREATE TABLE panel.identity (
  id         uuid PRIMARY KEY,
  user_id    uuid NOT NULL REFERENCES panel."user" (id),
  issuer     text NOT NULL,
  subject    text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (issuer, subject),
  UNIQUE (user_id, issuer)
);

CREATE CONSTRAINT TRIGGER identity_change_is_audited AFTER INSERT OR UPDATE OR DELETE ON panel.identity
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION panel.demand_audit();
