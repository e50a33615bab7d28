/**
 * Every limit on requests, responses and stored data. Lengths are in Unicode code points, like JSON Schema's
 * `maxLength`; sizes are in bytes.
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
  /** Applies to an array of events, and to what a gzipped body unpacks to. */
  batchEvents: 10_000,
  batchBytes: 16 * 1_048_576,
  /** For an array with an `Idempotency-Key`, whose response is kept whole. */
  keyedBatchBytes: 4 * 1_048_576,
  /** For a request of another service's client (`drop-in/`), packed and unpacked, and the values in all of it. */
  foreignBatchBytes: 8 * 1_048_576,
  foreignBatchValues: 500_000,
  /**
   * Events in such a request. They are recorded in pieces, each at most as long as an array of events. A piece of
   * records in Protocol Buffers, and so each of them, has at most this many values.
   */
  foreignItems: 100_000,
  foreignPieceValues: 100_000,
  /** Members of an object in such a request, and attributes of a log record that are read. */
  foreignObjectMembers: 2_000,
  /** Users whose properties are merged in one transaction, which other events wait for. */
  mergedUsers: 100,
  /** Maximum nesting of a JSON body, and its total number of members, items, objects and arrays. */
  jsonLevels: 64,
  jsonValues: 1_000,
  /** Maximum ratio of unpacked to sent bytes of a gzipped body, once it unpacks to more than `eventBytes`. */
  gzipRatio: 100,
  /**
   * Total size of event bodies over `requestBytes` that are processed at once, overall, per project, and of all whose
   * key is not known yet, and how long others wait.
   */
  largeBodiesBytes: 3 * 16 * 1_048_576,
  largeBodiesOfProjectBytes: 2 * 16 * 1_048_576,
  largeBodiesOfStrangersBytes: 16 * 1_048_576,
  largeBodyWaitSeconds: 30,
  /** How long a client that sends NDJSON may pause. */
  linesPauseSeconds: 120,
  /** Time to record a large array of events, and the rate at which it must arrive after the first `requestSeconds`. */
  batchSeconds: 120,
  bodyBytesPerSecond: 16_384,
  /** Faults listed for each event of a batch, so that the response isn't many times the size of the batch. */
  itemFaults: 5,
  /** Rejected lines of an NDJSON body that are listed in the response and kept. All are counted. */
  listedRejections: 1_000,
  /** If more lines than this are rejected, and more than are accepted, the rest of the body is not read. */
  rejectedLines: 10_000,
  idempotencyKeyCharacters: 255,
  /** How long the response to an `Idempotency-Key` is replayed. */
  idempotencyMs: 24 * 60 * 60 * 1_000,
  /** How much of a rejected event's body is kept. */
  rejectedBodyCharacters: 65_536,
  /** Rejected events on a page, and that one request resends. */
  rejectedAtOnce: 200,
  /** Groups of rejected events that are listed, the largest ones. */
  rejectedGroups: 100,
  /** Changes that are made to each rejected event that is resent. */
  eventFixes: 20,
  /** Body of all other requests: small JSON objects from the dashboard and the API. */
  requestBytes: 65_536,
  /**
   * How long a request may take to arrive, and a client may take to read more of the response. Live streams are exempt.
   */
  requestSeconds: 10,
  /**
   * How long a connection stays open after a request that isn't a GET. Longer than most clients and proxies keep theirs
   * (60 seconds), so that the client closes first: a request that meets the server's close ends in ECONNRESET, and a
   * POST isn't repeated by itself.
   */
  keepAliveSeconds: 75,
  /** How long the work of a request may take once it has arrived. Streams may take longer. */
  requestWorkSeconds: 120,
  /**
   * Of a project, on one node: searches and listings in progress, counts in progress, and how many of each can wait. Of
   * a database with connections, a project's searches use at most half of them.
   */
  searchesOfProject: 64,
  countsOfProject: 4,
  readsWaitingOfProject: 500,
  /** Open live streams on one node. */
  streamsPerKey: 1_000,
  streamsPerAccount: 100,
  /** Events of a project that wait to be matched for its streams, in characters of JSON. */
  streamQueueCharacters: 16 * 1_048_576,
  /** Items on a page of any list, unless its schema says why fewer must do, and how many it has by default. */
  pageItems: 1_000,
  pageItemsDefault: 100,
  /** Columns of tags in CSV, and different tags that are counted to choose them. */
  csvTagColumns: 200,
  csvCountedTags: 10_000,
  /** Enough for the longest tag key and value with every character escaped. */
  searchCharacters: 4_000,
  /** Words and values in a search. */
  searchTerms: 100,
  searchDepth: 10,
  /** Names, tags or values that are listed at once. */
  knownTexts: 1_000,
  /** How long a completion waits for texts, names and counts that take long to find. It comes without the others. */
  completionMs: 1_000,
  /** How long alternatives to a search are tried. */
  alternativesMs: 3_000,
  statsBuckets: 5_000,
  statsSeries: 100,
  /** Event names with a counter of their own in each hour of a channel. Names that come later share one counter. */
  countedNames: 100,
  /** Maximum number of distinct values that a split groups by before it picks the largest. */
  statsSplitValues: 100_000,
  funnelSteps: 6,
  /** Longest time from a funnel's first step to its last. */
  funnelWindowSeconds: 366 * 24 * 60 * 60,
  /** Steps of a path, and event names that each tells apart. */
  pathSteps: 5,
  pathNames: 10,
  /** Days or weeks of a retention table. */
  retentionPeriods: 100,
  /**
   * What a metric, funnel or retention table keeps in memory: different users, pairs of a user and a value of a split,
   * and events of users in a funnel. To tell four million users apart takes 180 MB, and 250 MB for a moment; in which of
   * 100 days they are active takes 300 MB.
   *
   * Sessions, paths and lists of active users keep times of each user, which are followed: two million of them take 250
   * to 400 MB. Places are those for the steps of paths, for each user as many as a path is long, and one more before an
   * event. They take 12 bytes each.
   */
  analysisUsers: 4_000_000,
  analysisFollowedUsers: 2_000_000,
  analysisPairs: 4_000_000,
  analysisEvents: 10_000_000,
  analysisPlaces: 10_000_000,
  /**
   * Metrics, funnels and retention tables that a node computes at the same time, in all and of one project, and that
   * can wait of one project.
   */
  analysesRunning: 3,
  analysesOfProject: 2,
  analysesWaiting: 100,
  /** Events of a page that its script sends at once. */
  websiteEvents: 50,
  /** A visit ends after so long without activity, and is remembered so much longer, for events that arrive late. */
  visitIdleMs: 30 * 60 * 1_000,
  visitKeptMs: 4 * 60 * 60 * 1_000,
  userProperties: 50,
  userNames: 50,
  /** IDs of one person, and IDs in a project that are joined to another one. */
  idsOfPerson: 100,
  joinedIds: 1_000_000,
  /** Who is joined to whom, as analyses keep it in memory. `joinedIds` take 50 MB. */
  peopleBytes: 64 * 1_048_576,
  /** IDs that are joined in one transaction, which other events wait for. */
  joinedTogether: 50,
  /** People whose IDs filters asked for lately, in memory. */
  recentPeople: 5_000,
  /** Requests of a project that wait to join IDs. */
  joinsWaiting: 200,
  /** Cohorts of a project. */
  cohorts: 50,
  cohortNameCharacters: 64,
  /** Conditions of a cohort in all, those on events among them, which each read the events of their time. */
  cohortConditions: 30,
  cohortEventConditions: 10,
  /** Values of a condition on a property, and users that a cohort names. */
  cohortValues: 100,
  cohortUserIds: 500,
  /** How far back a condition looks, and how often something happened in that time, at most. */
  cohortDays: 3_650,
  cohortTimes: 1_000_000,
  /** IDs of the people in a cohort. */
  cohortIds: 1_000_000,
  /** IDs of the people in all cohorts of one search. */
  searchCohortIds: 2_000_000,
  /** Who is in cohorts, as searches keep it in memory. A cohort with `cohortIds` takes 24 to 48 MB. */
  cohortBytes: 64 * 1_048_576,
  /**
   * How often members are computed: so often, unless that takes more than a twentieth of the time. How long it may take.
   */
  cohortRefreshSeconds: 30,
  cohortSeconds: 60,
  /** Cohorts that a node computes at the same time, in all and of one project. */
  cohortsComputing: 2,
  cohortsComputingOfProject: 1,
  /** Types of groups of a project, such as companies and teams, and groups of each type. */
  groupTypes: 5,
  groups: 100_000,
  groupIdCharacters: 200,
  /** IDs that are members of a group, and groups of which an ID is a member. */
  groupMembers: 100_000,
  groupsOfUser: 100,
  /** Groups on a page of their list: the events of each are counted. */
  listedGroups: 100,
  /** Notes about a user, and the length of one. */
  userNotes: 200,
  userNoteCharacters: 2_000,
  /** A search for users. */
  userSearchCharacters: 200,
  /** Unfinished jobs of a project, such as erasures. */
  openJobs: 1_000,
  /** How long finished jobs and their receipts are kept, and how many per project. */
  doneJobDays: 90,
  doneJobs: 10_000,
  /** How far `createdAt` may be ahead of the server's clock, for clients whose clock is fast. */
  maxClockSkewMs: 24 * 60 * 60 * 1_000,
  /** Events that are older than this when they arrive never notify. */
  notifyAgeMs: 60 * 60 * 1_000,
  /** Channels of a project, created explicitly or by their first event. */
  channels: 1_000,
  channelDescriptionCharacters: 1_000,
  /** Tags of an event in a board's list. */
  feedRowTags: 12,
  /** Tags that a channel's settings can choose to be shown first. */
  channelFirstTags: 10,
  retentionDays: 3_650,
  projectNameCharacters: 80,
  /** Projects that an account owns. Commands have no such limit. */
  projectsPerAccount: 50,
  /** Members of a project, including those who are invited. */
  members: 1_000,
  invitationDays: 30,
  invitationDaysDefault: 7,
  /** Links to confirm a new address that an account can ask for, and that are sent to an address, in an hour. */
  emailChangesPerHour: 5,
  emailChangesToRecipientPerHour: 3,
  /** Sign-ups with an invitation that learn that an address has an account: by inviter and by client, in an hour. */
  takenAddressesPerHour: 20,
  /** Invitations that an account can send an hour. */
  invitationsPerHour: 100,
  /** Requests with an invitation's link from one address in a minute. */
  invitationRequestsPerMinute: 300,
  keyNameCharacters: 80,
  keyOrigins: 50,
  keyEventsPerSecond: 1_000_000,
  /** Rate limit of publishable keys, unless another is chosen. */
  publishableEventsPerSecond: 50,
  /** Length of the windows in which rate limits count. */
  rateWindowSeconds: 10,
  /** How long a rotated key can stay valid, and how long it does unless another time is chosen. */
  /** A scheduled backup that takes longer has stopped, such as at a store that doesn't answer. */
  backupRunHours: 12,
  /** Free space for the check of a backup, in databases: the copy, what it is unpacked from, and what the check writes. */
  backupCheckDatabases: 2.5,
  keyOverlapHours: 168,
  keyOverlapHoursDefault: 24,
  /** A key that expires within so many days expires soon. */
  keyExpirySoonDays: 8,
  projectEventsPerDay: 1_000_000_000,
  /** Keys that each rate limit in memory remembers. */
  rateLimitKeys: 20_000,
  /** Attempts to sign in to an account with a wrong password (`auth/sign-in-limits.ts`). */
  signIn: {
    perClient: [
      { attempts: 5, seconds: 60 },
      { attempts: 10, seconds: 15 * 60 },
      { attempts: 20, seconds: 60 * 60 },
    ],
    // Under 100 an hour (OWASP ASVS 4.0, 2.2.1), in short windows, so that a stranger can't lock anybody out for long.
    perAccount: { attempts: 16, seconds: 10 * 60 },
  },
  accountNameCharacters: 80,
  passkeyNameCharacters: 80,
  /** How recent a sign-in must be to change what protects an account, where there is no password to ask for. */
  recentSignInSeconds: 60 * 60,
  emailCharacters: 254,
  passwordCharactersMin: 10,
  passwordCharactersMax: 128,
  /** Passwords that wait to be hashed: up to ten seconds of work. */
  passwordsWaiting: 100,
  /** Guesses at an account's password by all of its sessions together, whatever they ask for with it. */
  passwordGuesses: { attempts: 10, seconds: 15 * 60 },
  pushEndpointCharacters: 2_048,
  destinationsPerAccount: 50,
  /** Mutes of an account that are not over, and how long one can last: a year. */
  mutesPerAccount: 500,
  muteMinutes: 366 * 24 * 60,
  /** Channels of all projects for which an account has chosen levels, times its destinations. */
  levelsPerAccount: 5_000,
  /** Events of a project in a second that go to members who want all, besides those that rules match. */
  followedEventsPerSecond: 20,
  /**
   * Notifications by email, apart from digests, to an account and by a project, in an hour of the clock. Further ones
   * come in a digest.
   */
  emailsPerAccountPerHour: 60,
  emailsPerProjectPerHour: 1_000,
  /** Deliveries that one digest by email covers. Further ones are in the next, which follows at once. */
  emailDigestDeliveries: 2_000,
  /** Newest of them that the email lists. */
  emailDigestItems: 50,
  /**
   * Requests with the link that unsubscribes from one address in a minute. Mail providers send those of many people.
   */
  unsubscribeRequestsPerMinute: 300,
  /** The same with the links of alerts. */
  alertLinkRequestsPerMinute: 300,
  /** Clicks on buttons in chats in a minute, from one network of the chat's service. */
  interactionRequestsPerMinute: 600,
  /** Body of a click, which has the whole message in it. */
  interactionBytes: 262_144,
  /** How long a chat's service may take to change the message that was clicked. Slack waits 3 s for the response. */
  interactionAnswerMs: 2_000,
  /** Members for whom an event's page explains why they were not notified. */
  explainedMembers: 100,
  /** Boards of a project, and deleted ones that can be restored. */
  boards: 50,
  deletedBoards: 10,
  boardNameCharacters: 80,
  tiles: 40,
  /** Columns of a board, and rows that a tile can take or be below. */
  boardColumns: 12,
  tileRows: 24,
  boardRows: 1_000,
  tileTitleCharacters: 80,
  tileTextCharacters: 4_000,
  stepNameCharacters: 80,
  tileSeries: 10,
  tableRows: 50,
  feedRows: 50,
  /** Longest range that a board shows: two years. */
  boardRangeDays: 731,
  /** Requests with a board's public link in a minute: from one address, and in all. */
  boardLinkRequestsPerMinute: 600,
  boardLinkRequestsPerMinuteTotal: 6_000,
  /** Results for public links that are computed at the same time, one of each project, and that can wait, of each. */
  boardLinksRunning: 2,
  boardLinkWaiting: 200,
  /** Insights, the numbers that applications set for boards. */
  insights: 200,
  insightKeyCharacters: 64,
  insightTitleCharacters: 80,
  /** Sums of whole numbers up to this are exact. */
  insightValue: 1e15,
  /**
   * An insight's history has a point for every so many minutes in which it was set, and so many points: a week's worth.
   */
  insightPointMinutes: 5,
  insightPoints: 2_016,
  /** Rules of a project. */
  rules: 50,
  ruleNameCharacters: 80,
  /** Values of a tag, users or channels that a rule follows each by itself. Longer values are cut. */
  ruleValues: 10_000,
  ruleValueCharacters: 200,
  /** After how many days without an event a rule forgets a value, at most. */
  ruleForgetDays: 366,
  /** Views of a project, and each member's own in it. */
  views: 50,
  viewNameCharacters: 80,
  /** The time range and the split of a view. */
  viewSettingCharacters: 100,
  /** Channels that a member can pin in a project. */
  pins: 50,
  /** Channels or views in a request that marks them as read. */
  seenMarks: 200,
  /** Unread events of a channel or view are counted up to here. */
  unreadEvents: 100,
  /** How long the sidebar waits for the unread counts of all views. */
  unreadViewsMs: 500,
  /** Destinations that a rule names. */
  ruleDestinations: 100,
  /** Longest window of a rule: 31 days. */
  ruleMinutes: 31 * 24 * 60,
  /** Shortest and longest time between two reminders of an open alert: 31 days. */
  reminderMinutesMin: 5,
  reminderMinutes: 31 * 24 * 60,
  /** Longest time for which an alert is acknowledged until it reminds again. */
  acknowledgeMinutes: 31 * 24 * 60,
  /** Values that a rule about a metric follows, the largest ones first. */
  metricValues: 200,
  /** How long one reading of a rule about a metric may take. */
  metricReadingSeconds: 20,
  /** Readings in progress on a node, of all projects and of one: charts need the same turns. */
  metricReadings: 2,
  metricReadingsOfProject: 1,
  /** How long a metric can't be read before the owners are told. */
  metricFailureMinutes: 30,
  /** Steps of a rule's escalation. */
  escalationSteps: 5,
  /** What happened to an alert, of which the newest are listed. */
  alertChanges: 100,
  /** Annotations of a project by a search, and notes. */
  eventAnnotations: 20,
  noteAnnotations: 2_000,
  annotationNameCharacters: 200,
  /** Marks that a chart draws, the newest ones. The others are counted. */
  annotationMarks: 100,
  /** Silences of a project that have not ended, and how long one can be. */
  silences: 50,
  silenceDays: 90,
  silenceReasonCharacters: 200,
  /** A silence begins at most this far ahead. */
  silenceAheadDays: 366,
  /** Highest limit of messages to a destination in an hour. */
  messagesPerHour: 10_000,
  /** Rules that a message about others that were held back counts one by one. */
  heldRules: 5,
  /** Highest threshold of a rule that counts. */
  ruleCount: 1_000_000,
  /** Newest events, and kinds of events with a count of their own, in a digest. */
  digestEvents: 10,
  digestGroups: 10,
  /** A rule's preview looks back a week, but at no more matching events than these. */
  previewDays: 7,
  previewEvents: 200_000,
  /** How far the preview of a rule about a metric looks back, and how many values of its line it returns. */
  metricPreviewDays: 30,
  metricPreviewValues: 720,
  metricPreviewLines: 5,
  /** Latest notifications that a rule's preview lists. All are counted. */
  previewNotifications: 100,
  /** Destinations of a project, such as webhooks and chats. */
  projectDestinations: 50,
  /** A destination that fails for this long is turned off. */
  destinationFailingDays: 5,
  destinationNameCharacters: 80,
  destinationUrlCharacters: 2_048,
  /** Whom urgent messages of a destination mention. */
  destinationMentionCharacters: 500,
  destinationTokenCharacters: 512,
  /** How long a webhook's previous secret stays valid after its rotation. */
  webhookSecretOverlapHours: 24,
  /** Webhooks of a project: addresses that make events of what other services send. */
  webhooks: 50,
  webhookNameCharacters: 80,
  /** A template or a condition. */
  webhookExpressionCharacters: 2_000,
  webhookSecretCharacters: 512,
  webhookHeaderCharacters: 64,
  /** The body of a request to a webhook's address, and its number of values: services send more than applications. */
  webhookBytes: 1_048_576,
  webhookValues: 20_000,
  /** Log lines or alerts of one request. Its bytes are limited like those of other services' clients. */
  webhookItems: 10_000,
  webhookRequestsPerMinute: 1_200,
  /** Requests with an address that doesn't exist, from one network. */
  webhookMissesPerMinute: 120,
  /** How old a signed request may be, and how far its sender's clock may be ahead. */
  webhookToleranceSeconds: 300,
  /** Newest requests that each webhook keeps, for how long, and up to which size of their body and headers. */
  webhookRequests: 10,
  webhookRequestDays: 7,
  webhookRequestCharacters: 262_144,
  webhookHeaders: 50,
  webhookHeaderValueCharacters: 500,
  /** Heartbeats of a project. */
  heartbeats: 50,
  heartbeatNameCharacters: 80,
  heartbeatSlugCharacters: 64,
  cronCharacters: 100,
  /** Longest period, grace and run of a heartbeat: a year. */
  heartbeatMinutes: 366 * 24 * 60,
  /** Pings of a heartbeat in a minute. */
  pingsPerMinute: 60,
  /** Newest pings that each heartbeat keeps, and how much of a ping's body. */
  pings: 100,
  pingBytes: 10_000,
  /** Runs in progress of a heartbeat whose starts are remembered, the newest ones. */
  heartbeatRuns: 20,
  /** Requests for a heartbeat's badge in a minute. */
  badgeRequestsPerMinute: 600,
  /** On-call schedules of a project. */
  onCallSchedules: 20,
  onCallNameCharacters: 80,
  onCallRotations: 5,
  /** Members of a rotation. */
  onCallMembers: 50,
  /** Days or weeks of a turn. */
  onCallTurn: 30,
  /** Overrides of a schedule that haven't ended, how long one lasts, and how long ended ones are kept. */
  onCallOverrides: 100,
  onCallOverrideDays: 92,
  onCallPastDays: 92,
  /** Longest range of shifts that one request lists. */
  onCallShiftDays: 92,
  /** Reports of a member in a project, and to the project's destinations. */
  reportsOfAccount: 20,
  reportsOfProject: 50,
  /** Seconds in which the tiles of a report are computed. What isn't done by then is left out. */
  reportSeconds: 15,
  /** Rows of a table, and newest events, in a report. */
  reportRows: 10,
  reportEvents: 5,
  /** Weeks that a report's retention looks back at least. */
  reportRetentionWeeks: 8,
  /** Seconds for drawing a picture, with the wait for those before it. */
  reportPictureSeconds: 10,
  /** Tests of one report in an hour. */
  reportTestsPerHour: 20,
  /** How long the address of a report's picture works. */
  reportPictureDays: 30,
  /** Requests for pictures of reports in a minute, from one network and for one report. */
  reportPictureRequestsPerMinute: 60,
  /** Pictures that the server keeps for those who open them next. */
  reportPicturesKept: 20,
  /** Failed attempts that a delivery remembers, the last ones. */
  deliveryFailures: 20,
  /** Dead deliveries that one request retries. */
  retriedDeliveries: 100_000,
  /** Unread notifications are counted among this many of an account's newest. */
  unreadCount: 1_000,
  /** How long a test message may take, so that its result is returned before the request times out. */
  destinationTestMs: 4_000,
} as const;
