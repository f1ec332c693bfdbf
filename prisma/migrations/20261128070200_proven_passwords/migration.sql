-- True when the password was set by a link that the operator made for the person's e-mail. Any other password is removed when a provider
-- vouches for that e-mail: the person who chose it may be another. False for passwords of earlier versions, which did not record it.
ALTER TABLE panel."user" ADD COLUMN password_proven boolean NOT NULL DEFAULT false;

-- Addresses from which a person has signed in. Failed sign-ins of others at such an address delay the person and do not lock them out.
CREATE TABLE panel.sign_in_address (
  user_id uuid NOT NULL REFERENCES panel."user" (id),
  -- An IPv4 address, or the /64 network of an IPv6 address.
  address text NOT NULL,
  -- The last sign-in.
  at      timestamptz NOT NULL,
  PRIMARY KEY (user_id, address)
);
CREATE INDEX sign_in_address_address_at ON panel.sign_in_address (address, at);
