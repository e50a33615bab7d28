-- The address's token, sealed, to show the address again. Null for addresses that were made before: only their hash is
-- known.
ALTER TABLE webhooks ADD COLUMN token text;
