/**
 * Every limit on what comes over the wire, in one place. Lengths count Unicode code points, as JSON Schema's
 * `maxLength` does; sizes count bytes.
 */
export const limits = {
  channelCharacters: 64,
  nameCharacters: 200,
  userIdCharacters: 200,
  iconCharacters: 64,
  descriptionCharacters: 10_000,
  tags: 50,
  tagKeyCharacters: 64,
  tagValueCharacters: 1_000,
  eventBytes: 1_048_576,
  /** Body of any other request: small JSON objects from the dashboard and the API. */
  requestBytes: 65_536,
  /** How long a request may take to come, and a client to take more of the answer; live streams may be quiet. */
  requestSeconds: 10,
  pageEvents: 1_000,
  /** How far ahead of the server's clock a `createdAt` may be, for clients whose clock runs fast. */
  futureMs: 24 * 60 * 60 * 1_000,
  /** An event that happened longer ago than this never notifies. */
  notifyAgeMs: 60 * 60 * 1_000,
  projectNameCharacters: 80,
  keyNameCharacters: 80,
  accountNameCharacters: 80,
  emailCharacters: 254,
  passwordCharactersMin: 10,
  passwordCharactersMax: 128,
  pushEndpointCharacters: 2_048,
  destinationsPerAccount: 50,
} as const;
