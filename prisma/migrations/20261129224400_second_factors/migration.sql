-- What a person shows beside the password: the codes of an app, or a passkey.
CREATE TABLE panel.second_factor (
  id            uuid PRIMARY KEY,
  user_id       uuid NOT NULL REFERENCES panel."user" (id),
  kind          text NOT NULL CHECK (kind IN ('app', 'passkey')),
  name          text NOT NULL,
  -- The secret that an app shares with the panel, and the last step of 30 seconds whose code was taken: no code is taken twice.
  app_secret    bytea,
  app_step      bigint,
  -- The id and the public key of a passkey, and how often it has signed, as it says itself.
  credential_id text UNIQUE,
  public_key    bytea,
  sign_count    bigint,
  created_at    timestamptz NOT NULL DEFAULT clock_timestamp(),
  used_at       timestamptz,
  CHECK (num_nonnulls(app_secret, app_step) = CASE kind WHEN 'app' THEN 2 ELSE 0 END),
  CHECK (num_nonnulls(credential_id, public_key, sign_count) = CASE kind WHEN 'passkey' THEN 3 ELSE 0 END)
);
CREATE INDEX second_factor_user_id ON panel.second_factor (user_id);
CREATE CONSTRAINT TRIGGER second_factor_change_is_audited AFTER INSERT OR DELETE ON panel.second_factor
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION panel.demand_audit();

-- Codes for a lost factor. Each works once.
CREATE TABLE panel.recovery_code (
  user_id uuid NOT NULL REFERENCES panel."user" (id),
  digest  bytea NOT NULL,
  PRIMARY KEY (user_id, digest)
);

-- What a passkey is asked to sign, once, within minutes.
CREATE TABLE panel.passkey_challenge (
  challenge  text PRIMARY KEY,
  user_id    uuid NOT NULL REFERENCES panel."user" (id),
  expires_at timestamptz NOT NULL
);
CREATE INDEX passkey_challenge_user_id ON panel.passkey_challenge (user_id);
