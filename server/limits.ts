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
  /** An array of events; of a gzipped body, what it holds. */
  batchEvents: 10_000,
  batchBytes: 16 * 1_048_576,
  /** Of an array with an `Idempotency-Key`: it is stored in one commit, for which other events wait. */
  keyedBatchBytes: 4 * 1_048_576,
  /** How deep an event, or another body, may be nested, and how many members, items, objects and arrays it may have in all. */
  jsonLevels: 64,
  jsonValues: 1_000,
  /** How many times as much as was sent a gzipped body may unpack to, where that is more than `eventBytes`. */
  gzipRatio: 100,
  /** Bodies of events that are larger than `requestBytes` and are read or recorded at once, together, and of one project; others wait for them so long. */
  largeBodiesBytes: 3 * 16 * 1_048_576,
  largeBodiesOfProjectBytes: 2 * 16 * 1_048_576,
  largeBodyWaitSeconds: 30,
  /** A client that sends NDJSON may pause for so long. */
  linesPauseSeconds: 120,
  /** A large array of events may take so long to be recorded; it has to come at so many bytes a second, after the first `requestSeconds`. */
  batchSeconds: 120,
  bodyBytesPerSecond: 16_384,
  /** Faults that are listed of each event of a batch, so that the answer is not many times as long as the batch; all are counted. */
  itemFaults: 5,
  /** Rejected lines of one NDJSON body that its answer lists and that are kept; all are counted. */
  listedRejections: 1_000,
  /** Where more lines than these are rejected, and more than are accepted, the rest of the body is not read. */
  rejectedLines: 10_000,
  idempotencyKeyCharacters: 255,
  /** How long the answer to an `Idempotency-Key` is given again. */
  idempotencyMs: 24 * 60 * 60 * 1_000,
  /** Of the body of an event that was rejected, so much is kept. */
  rejectedBodyCharacters: 65_536,
  /** Body of any other request: small JSON objects from the dashboard and the API. */
  requestBytes: 65_536,
  /** How long a request may take to come, and a client to take more of the answer; live streams may be quiet. */
  requestSeconds: 10,
  /** Live streams that are open at once, on one node. */
  streamsPerKey: 1_000,
  streamsPerAccount: 100,
  pageEvents: 1_000,
  /** Room for a tag of the longest key and value, each character of them escaped. */
  searchCharacters: 4_000,
  /** Words and values in a search. */
  searchTerms: 100,
  searchDepth: 10,
  statsBuckets: 5_000,
  statsSeries: 100,
  /** Names that are counted one by one in each hour of a channel, the first that come; the others are counted together. */
  countedNames: 100,
  /** Most values that a split tells apart before it finds the largest. */
  statsSplitValues: 100_000,
  userProperties: 50,
  userNames: 50,
  pageUsers: 1_000,
  /** Jobs of a project that are not done, such as erasures. */
  openJobs: 1_000,
  /** Jobs that are done, with their receipts: how long they are kept, and how many of a project. */
  doneJobDays: 90,
  doneJobs: 10_000,
  /** How far ahead of the server's clock a `createdAt` may be, for clients whose clock runs fast. */
  maxClockSkewMs: 24 * 60 * 60 * 1_000,
  /** An event that happened longer ago than this never notifies. */
  notifyAgeMs: 60 * 60 * 1_000,
  /** Channels of a project, made by hand or by their first event. */
  channels: 1_000,
  channelDescriptionCharacters: 1_000,
  retentionDays: 3_650,
  projectNameCharacters: 80,
  keyNameCharacters: 80,
  accountNameCharacters: 80,
  emailCharacters: 254,
  passwordCharactersMin: 10,
  passwordCharactersMax: 128,
  pushEndpointCharacters: 2_048,
  destinationsPerAccount: 50,
  /** How long deliveries are kept, with them the entries of the bell. */
  deliveryDays: 30,
  /** Unread notifications are counted among so many of an account, the newest. */
  unreadCount: 1_000,
  /** How long a test message may take: the answer says how it went before the request runs out of time. */
  destinationTestMs: 4_000,
} as const;
