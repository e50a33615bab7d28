import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  notFound,
  redirect,
} from "@tanstack/react-router";
import { meQuery } from "./account/me.ts";
import { ApiError } from "./api.ts";
import { filtersIn } from "./feed/filters.ts";
import { queries } from "./queries.ts";
import { parseSearch, stringifySearch } from "./search-params.ts";
import { setupQuery } from "./setup/setup-state.ts";
import { NotFoundPage, PageError, Root } from "./shell/root.tsx";

const root = createRootRoute({
  component: Root,
  errorComponent: PageError,
  notFoundComponent: NotFoundPage,
});

const signIn = createRoute({
  getParentRoute: () => root,
  path: "/sign-in",
  validateSearch: (search): { next?: string } =>
    typeof search.next === "string" ? { next: search.next } : {},
  component: lazyRouteComponent(() => import("./account/sign-in-page.tsx"), "SignInPage"),
});

const setup = createRoute({
  getParentRoute: () => root,
  path: "/setup",
  validateSearch: (search): { token?: string } =>
    typeof search.token === "string" ? { token: search.token } : {},
  component: lazyRouteComponent(() => import("./setup/setup-page.tsx"), "SetupPage"),
});

/** All that needs an account. Who has none is sent to sign in, and back here afterwards. */
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
  component: lazyRouteComponent(() => import("./shell/shell.tsx"), "Shell"),
});

const home = createRoute({
  getParentRoute: () => signedIn,
  path: "/",
  beforeLoad({ context }) {
    const project = context.me.projects[0]?.slug;
    if (project) throw redirect({ to: "/p/$project", params: { project }, replace: true });
  },
  component: lazyRouteComponent(() => import("./projects/no-project-page.tsx"), "NoProjectPage"),
});

const notifications = createRoute({
  getParentRoute: () => signedIn,
  path: "/notifications",
  component: lazyRouteComponent(() => import("./notifications/notifications-page.tsx"), "NotificationsPage"),
});

const project = createRoute({
  getParentRoute: () => signedIn,
  path: "/p/$project",
  beforeLoad({ context, params }) {
    if (!context.me.projects.some((each) => each.slug === params.project)) throw notFound();
  },
});

/** The feed stays, scrolled as it was, while events open beside it and channels change. */
const feed = createRoute({
  getParentRoute: () => project,
  id: "feed",
  validateSearch: filtersIn,
  component: lazyRouteComponent(() => import("./feed/feed-page.tsx"), "FeedPage"),
});
const allEvents = createRoute({ getParentRoute: () => feed, path: "/" });
const channel = createRoute({ getParentRoute: () => feed, path: "/channels/$channel" });
const event = createRoute({
  getParentRoute: () => feed,
  path: "/events/$id",
  component: lazyRouteComponent(() => import("./event/event-page.tsx"), "EventPage"),
});

const keys = createRoute({
  getParentRoute: () => project,
  path: "/keys",
  component: lazyRouteComponent(() => import("./keys/keys-page.tsx"), "KeysPage"),
});
const refused = createRoute({
  getParentRoute: () => project,
  path: "/refused",
  component: lazyRouteComponent(() => import("./refused/refused-page.tsx"), "RefusedPage"),
});
const settings = createRoute({
  getParentRoute: () => project,
  path: "/settings",
  component: lazyRouteComponent(() => import("./settings/settings-page.tsx"), "SettingsPage"),
});

/** The short addresses, without a project: they lead into the first one. */
const short = ["/channels/$", "/events/$", "/keys", "/refused", "/settings"].map((path) =>
  createRoute({
    getParentRoute: () => signedIn,
    path,
    beforeLoad({ context, location }) {
      const first = context.me.projects[0]?.slug;
      if (!first) throw redirect({ to: "/" });
      throw redirect({ href: `/p/${encodeURIComponent(first)}${location.href}`, replace: true });
    },
  }),
);

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    setup,
    signedIn.addChildren([
      home,
      notifications,
      project.addChildren([feed.addChildren([allEvents, channel, event]), keys, refused, settings]),
      ...short,
    ]),
  ]),
  parseSearch,
  stringifySearch,
  defaultPreload: "intent",
  defaultPreloadStaleTime: 0,
  notFoundMode: "root",
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
