-- Each change of what signs in to an account raises its credential epoch (auth/credential-epoch.ts). A session or link of
-- an earlier epoch is void; of what signs in, the epoch tells what was added after a change. -1: nobody stamped it.
ALTER TABLE accounts ADD COLUMN credential_epoch integer NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN credential_epoch integer NOT NULL DEFAULT -1;
UPDATE sessions SET credential_epoch = 0;
ALTER TABLE credentials ADD COLUMN credential_epoch integer NOT NULL DEFAULT 0;
ALTER TABLE passkeys ADD COLUMN credential_epoch integer NOT NULL DEFAULT 0;
ALTER TABLE two_factors ADD COLUMN credential_epoch integer NOT NULL DEFAULT 0;
ALTER TABLE two_factors ADD COLUMN enabled_at text {{binary}};
-- The time step of the last code that was accepted (RFC 6238, section 5.2): this code and older ones no longer work.
ALTER TABLE two_factors ADD COLUMN used_step integer;

-- Sign-ins that wait for their second factor belong to an account. Those of the moment of the update begin anew.
DELETE FROM verifications;
ALTER TABLE verifications ADD COLUMN account_id text {{binary}} REFERENCES accounts (id) ON DELETE CASCADE;
ALTER TABLE verifications ADD COLUMN credential_epoch integer NOT NULL DEFAULT -1;
CREATE INDEX verifications_account ON verifications (account_id) WHERE account_id IS NOT NULL;

-- Links that work once: to reset a password, to change an address or to take it back, to sign up.
CREATE TABLE account_links (
  -- SHA-256 of the token, in hexadecimal.
  token_hash text {{binary}} PRIMARY KEY,
  purpose text NOT NULL,
  -- Null if it creates the account.
  account_id text {{binary}} REFERENCES accounts (id) ON DELETE CASCADE,
  credential_epoch integer NOT NULL,
  -- The address that it is about; null if it was printed.
  email text {{binary}},
  created_at text {{binary}} NOT NULL,
  expires_at text {{binary}} NOT NULL
) {{without_rowid}};
CREATE INDEX account_links_account ON account_links (account_id);
CREATE INDEX account_links_email ON account_links (email);
CREATE INDEX account_links_age ON account_links (expires_at);
