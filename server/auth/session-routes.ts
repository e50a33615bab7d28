import { recordAudit } from "../audit/audit-log.ts";
import type { Routes } from "../http/routes.ts";
import { Done } from "../schemas/done.ts";
import { SessionList } from "../schemas/session.ts";
import type { Store } from "../storage/store.ts";
import { type Auth, requireSession } from "./auth.ts";
import { endSession, endSessions, listSessions } from "./sessions.ts";

type Deps = {
  store: Store;
  auth: Auth;
  /** Ends the live streams of ended sessions at once. */
  streamAuthorizer: { check: () => Promise<void> };
};

/** The sessions of the signed-in account. */
export function addSessionRoutes(routes: Routes, { store: { control }, auth, streamAuthorizer }: Deps): void {
  routes.add(
    {
      method: "get",
      path: "/api/sessions",
      by: "account",
      tag: "Account",
      summary: "List your sessions",
      response: SessionList,
    },
    async ({ account, request }) => {
      const { id } = await requireSession(auth, request);
      return { sessions: await listSessions(control, account.id, id) };
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/sessions/{id}",
      by: "account",
      tag: "Account",
      summary: "End one of your sessions",
      description: "Its live streams end at once.",
      response: Done,
      problems: [404],
    },
    async ({ account, actor, parameter }) => {
      await endSession(control, account.id, parameter("id"), actor);
      await streamAuthorizer.check();
    },
  );

  routes.add(
    {
      method: "delete",
      path: "/api/sessions",
      by: "account",
      tag: "Account",
      summary: "End all your sessions but this one",
      response: Done,
    },
    async ({ account, actor, request }) => {
      const { id } = await requireSession(auth, request);
      await control.transaction().execute(async (transaction) => {
        const sessions = await endSessions(transaction, account.id, id);
        const detail = { sessions };
        if (sessions > 0)
          await recordAudit(transaction, actor, { action: "session.ended", target: account.email, detail });
      });
      await streamAuthorizer.check();
    },
  );
}
