import { createRootRoute, createRoute, createRouter, notFound, redirect } from "@tanstack/react-router";
import { withoutTilde, withTilde } from "../server/schemas/path-segment.ts";
import { meQuery } from "./account/me.ts";
import { ApiError } from "./api.ts";
import { lazyPart } from "./components/lazy-part.tsx";
import { FeedPage } from "./feed/feed-page.tsx";
import { chosenIn, type Filters, splitIn, typedIn } from "./feed/filters.ts";
import { permitted } from "./projects/permitted.tsx";
import { queries } from "./queries.ts";
import { setupQuery } from "./setup/setup.ts";
import { NotFoundPage, PageError, Root } from "./shell/root.tsx";
import { Shell } from "./shell/shell.tsx";

const EventPage = lazyPart(async () => (await import("./event/event-page.tsx")).EventPage);
// Load the event page in parallel with the account, not after it.
if (/\/events\/[^/]+$/.test(location.pathname)) void EventPage.preload();

const root = createRootRoute({
  component: Root,
  notFoundComponent: NotFoundPage,
});

type Page = Awaited<ReturnType<Parameters<typeof lazyPart>[0]>>;

/** A page of several that share a file. */
function pageOf<Name extends string>(load: () => Promise<Record<Name, Page>>, name: Name) {
  return lazyPart(async () => (await load())[name]);
}

/** A page for people without a session, with the parameters of links to it. */
function open<Path extends string>(path: Path, load: Parameters<typeof lazyPart>[0]) {
  return createRoute({
    getParentRoute: () => root,
    path,
    validateSearch: (search): { next?: string; token?: string; error?: string } =>
      Object.fromEntries(
        ["next", "token", "error"].flatMap((name) =>
          typeof search[name] === "string" ? [[name, search[name]]] : [],
        ),
      ),
    component: lazyPart(load),
  });
}

/** The parameters of a board's period. `boards/ranges.ts` reads them. */
function rangeSearch(search: Record<string, unknown>): {
  range?: string;
  from?: string;
  to?: string;
  compare?: string;
} {
  return Object.fromEntries(
    ["range", "from", "to", "compare"].flatMap((name) =>
      typeof search[name] === "string" ? [[name, search[name]]] : [],
    ),
  );
}

const publicBoard = createRoute({
  getParentRoute: () => root,
  path: "/b/$token",
  validateSearch: rangeSearch,
  component: lazyPart(async () => (await import("./boards/public-board-page.tsx")).PublicBoardPage),
});

const accountPages = () => import("./account/open-pages.ts");
const openPages = [
  open("/sign-in", async () => (await accountPages()).SignInPage),
  open("/sign-up", async () => (await accountPages()).SignUpPage),
  open("/forgot-password", async () => (await accountPages()).ForgotPasswordPage),
  open("/reset-password", async () => (await accountPages()).ResetPasswordPage),
  open("/confirm-email", async () => (await accountPages()).ConfirmEmailPage),
  open("/restore-email", async () => (await accountPages()).RestoreEmailPage),
  open("/setup", async () => (await import("./setup/setup-page.tsx")).SetupPage),
] as const;

const invitation = createRoute({
  getParentRoute: () => root,
  path: "/invite/$token",
  component: pageOf(accountPages, "InvitationPage"),
});

/** The search parameters of a page that are texts. */
const textsIn =
  <Name extends string>(...names: Name[]) =>
  (search: Record<string, unknown>): { [Key in Name]?: string } =>
    Object.fromEntries(
      names.flatMap((name) => (typeof search[name] === "string" ? [[name, search[name]]] : [])),
    ) as { [Key in Name]?: string };

const alertLink = createRoute({
  getParentRoute: () => root,
  path: "/alert/$token",
  validateSearch: textsIn("do", "minutes"),
  component: pageOf(accountPages, "AlertLinkPage"),
});
const unsubscribe = createRoute({
  getParentRoute: () => root,
  path: "/unsubscribe/$token",
  component: pageOf(accountPages, "UnsubscribePage"),
});

/** Pages that need an account. Redirects to the sign-in page, which leads back here. */
const signedIn = createRoute({
  getParentRoute: () => root,
  id: "signed-in",
  async beforeLoad({ location }) {
    try {
      return { me: await queries.ensureQueryData(meQuery) };
    } catch (error) {
      if (!(error instanceof ApiError) || error.status !== 401) throw error;
      const { needed } = await queries.fetchQuery(setupQuery);
      if (needed) throw redirect({ to: "/setup" });
      throw redirect({ to: "/sign-in", search: location.href === "/" ? {} : { next: location.href } });
    }
  },
  component: Shell,
});

const home = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  beforeLoad({ context }) {
    const project = context.me.projects[0]?.slug;
    if (project) throw redirect({ to: "/p/$project", params: { project }, replace: true });
  },
  component: lazyPart(async () => (await import("./projects/no-project-page.tsx")).NoProjectPage),
});

const notifications = createRoute({
  getParentRoute: () => signedIn,
  path: "/notifications",
  component: lazyPart(async () => (await import("./notifications/notifications-page.tsx")).NotificationsPage),
});

const account = createRoute({
  getParentRoute: () => signedIn,
  path: "/account",
  component: lazyPart(async () => (await import("./account/account-page.tsx")).AccountPage),
});

const notificationSettings = createRoute({
  getParentRoute: () => signedIn,
  path: "/account/notifications",
  component: lazyPart(
    async () => (await import("./settings/notification-settings-page.tsx")).NotificationSettingsPage,
  ),
});

/** Emails that were sent before the project's and one's own settings were apart link to it, for the notifications. */
const oldSettings = createRoute({
  getParentRoute: () => signedIn,
  path: "/settings",
  beforeLoad() {
    throw redirect({ to: "/account/notifications", replace: true });
  },
});

const status = createRoute({
  getParentRoute: () => signedIn,
  path: "/status",
  component: lazyPart(async () => (await import("./status/status-page.tsx")).StatusPage),
});

const project = createRoute({
  getParentRoute: () => signedIn,
  path: "/p/$project",
  beforeLoad({ context, params }) {
    if (!context.me.projects.some((each) => each.slug === params.project)) throw notFound();
  },
});

/** A parameter that is a name of the application's: also "." and "..", which paths lose. */
function named<Name extends string>(...names: Name[]) {
  const each = (change: (text: string) => string) => (params: Record<Name, string>) =>
    Object.fromEntries(names.map((name) => [name, change(params[name])])) as Record<Name, string>;
  return { params: { parse: each(withoutTilde), stringify: each(withTilde) } };
}

/** The feed stays mounted and keeps its scroll position while events open next to it. */
const feed = createRoute({
  getParentRoute: () => project,
  id: "feed",
  validateSearch: (search): Filters => ({ ...chosenIn(search), ...splitIn(search), ...typedIn(search) }),
  component: FeedPage,
});
const allEvents = createRoute({ getParentRoute: () => feed, path: "/" });
const channel = createRoute({ getParentRoute: () => feed, path: "/channels/$channel", ...named("channel") });
const event = createRoute({
  getParentRoute: () => feed,
  path: "/events/$id",
  component: EventPage,
});

/** A page of a project. */
function page<Path extends string>(path: Path, component: ReturnType<typeof lazyPart>) {
  return createRoute({ getParentRoute: () => project, path, component });
}

const boardPages = () => import("./boards/pages.ts");
const BoardsPage = pageOf(boardPages, "BoardsPage");
const boards = createRoute({
  getParentRoute: () => project,
  path: "/boards",
  validateSearch: rangeSearch,
  component: BoardsPage,
});
const board = createRoute({
  getParentRoute: () => project,
  path: "/boards/$board",
  validateSearch: rangeSearch,
  component: BoardsPage,
});
const insights = page("/insights", pageOf(boardPages, "InsightsPage"));
const annotations = page("/annotations", pageOf(boardPages, "AnnotationsPage"));
const connectionPages = () => import("./connections/pages.ts");
const keys = page("/keys", permitted("keys:manage", "API keys", pageOf(connectionPages, "KeysPage")));
const settingsPages = () => import("./settings/pages.ts");
const members = page("/members", pageOf(settingsPages, "MembersPage"));
const userPages = () => import("./users/pages.ts");
const users = createRoute({
  getParentRoute: () => project,
  path: "/users",
  validateSearch: textsIn("sort", "q"),
  component: pageOf(userPages, "UsersPage"),
});
const user = createRoute({
  getParentRoute: () => project,
  path: "/users/$userId",
  ...named("userId"),
  validateSearch: textsIn("erasure"),
  component: pageOf(userPages, "UserPage"),
});
const cohorts = page("/cohorts", pageOf(userPages, "CohortsPage"));
const cohort = page("/cohorts/$cohort", pageOf(userPages, "CohortPage"));
const groups = createRoute({
  getParentRoute: () => project,
  path: "/groups/$type",
  ...named("type"),
  validateSearch: textsIn("q"),
  component: pageOf(userPages, "GroupsPage"),
});
const group = createRoute({
  getParentRoute: () => project,
  path: "/groups/$type/$group",
  ...named("type", "group"),
  component: pageOf(userPages, "GroupPage"),
});
const who = createRoute({
  getParentRoute: () => project,
  path: "/who",
  // `who/question.ts` reads it.
  validateSearch: (search: Record<string, unknown>): Record<string, string> =>
    Object.fromEntries(
      Object.entries(search).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    ),
  component: pageOf(boardPages, "WhoPage"),
});
const rulePages = () => import("./rules/pages.ts");
const rules = page("/rules", pageOf(rulePages, "RulesPage"));
const rule = page("/rules/$rule", pageOf(rulePages, "RulePage"));
const alerts = createRoute({
  getParentRoute: () => project,
  path: "/alerts",
  validateSearch: textsIn("alert"),
  component: pageOf(rulePages, "AlertsPage"),
});
const silences = page("/silences", pageOf(rulePages, "SilencesPage"));
const destinations = page("/destinations", pageOf(rulePages, "DestinationsPage"));
const deliveries = createRoute({
  getParentRoute: () => project,
  path: "/deliveries",
  validateSearch: textsIn("state", "to", "rule", "account", "channel", "range", "from", "until"),
  component: pageOf(rulePages, "DeliveriesPage"),
});
const heartbeats = page("/heartbeats", pageOf(rulePages, "HeartbeatsPage"));
const heartbeat = page("/heartbeats/$heartbeat", pageOf(rulePages, "HeartbeatPage"));
const onCall = page("/on-call", pageOf(rulePages, "OnCallPage"));
const reports = page("/reports", pageOf(rulePages, "ReportsPage"));
const webhooks = page("/webhooks", pageOf(connectionPages, "WebhooksPage"));
const connections = page("/connections", pageOf(connectionPages, "ConnectionsPage"));
const rejected = page("/rejected", pageOf(connectionPages, "RejectedPage"));
const audit = page("/audit", permitted("audit:read", "Audit log", pageOf(settingsPages, "AuditPage")));
const settings = page("/settings", pageOf(settingsPages, "ProjectSettingsPage"));

const pages = [
  users,
  user,
  cohorts,
  cohort,
  groups,
  group,
  who,
  boards,
  board,
  insights,
  annotations,
  keys,
  members,
  rules,
  rule,
  alerts,
  silences,
  destinations,
  deliveries,
  heartbeats,
  heartbeat,
  onCall,
  reports,
  webhooks,
  rejected,
  connections,
  audit,
] as const;

/** Short URLs without a project redirect to the first project. */
const short = [channel, event, ...pages].map(({ options }) =>
  createRoute({
    getParentRoute: () => signedIn,
    path: (options as { path: string }).path,
    beforeLoad({ context, location }) {
      const first = context.me.projects[0]?.slug;
      if (!first) throw redirect({ to: "/" });
      throw redirect({ href: `/p/${encodeURIComponent(first)}${location.href}`, replace: true });
    },
  }),
);

export const router = createRouter({
  routeTree: root.addChildren([
    ...openPages,
    invitation,
    unsubscribe,
    alertLink,
    publicBoard,
    signedIn.addChildren([
      home,
      notifications,
      account,
      notificationSettings,
      oldSettings,
      status,
      project.addChildren([feed.addChildren([allEvents, channel, event]), ...pages, settings]),
      ...short,
    ]),
  ]),
  parseSearch,
  stringifySearch,
  // An error replaces only its page; the layout around it stays.
  defaultErrorComponent: PageError,
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  notFoundMode: "root",
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}

// Query parameters are plain text: `?userId=42` is the text "42". The router's default would parse it as JSON.
function parseSearch(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [key, value] of Object.entries(search)) {
    if (typeof value === "string" && value !== "") params.set(key, value);
  }
  // As few escapes as possible, because people read and share these URLs.
  const text = params.toString().replaceAll("%2F", "/").replaceAll("%3A", ":").replaceAll("%40", "@");
  return text && `?${text}`;
}
