import { makeChange } from "../audit/changes.ts";
import { signatureProblem } from "../auth/identity-signature.ts";
import { ProblemError, problem } from "../core/problems.ts";
import { ProjectQuery } from "../event/event-query.ts";
import type { Access } from "../http/caller.ts";
import type { Routes } from "../http/routes.ts";
import { checkKeyOrigin, type KeyRateLimits } from "../ingest/key-limits.ts";
import type { RejectedEvents } from "../ingest/rejected.ts";
import {
  Alias,
  Identification,
  IdentifiedResponse,
  Merge,
  MergeResponse,
  SplitResponse,
} from "../schemas/person.ts";
import type { JoinedBy } from "../schemas/user.ts";
import { peopleChanged } from "../storage/people.ts";
import type { SecretBox } from "../storage/secret-box.ts";
import type { Store } from "../storage/store.ts";
import { recountUsers } from "../users/check-users.ts";
import { checkUserId, findUser, patchProperties } from "../users/users.ts";
import { type JoinResult, joinAll } from "./join-ids.ts";
import { mergeUsers } from "./merge-users.ts";
import { splitId } from "./split-id.ts";

type Deps = { store: Store; secrets: SecretBox; rateLimits: KeyRateLimits; rejected: RejectedEvents };

/** Problems that depend on what is known of an ID. */
const tellingProblems: ReadonlySet<string> = new Set(["user-known", "id-taken", "limit-reached"]);

export function addPeopleRoutes(routes: Routes, { store, secrets, rateLimits, rejected }: Deps): void {
  /** Throws the problems of a publishable key: its origin, its rate, and its signature. */
  async function checkSender(
    access: Access,
    request: Request,
    { userId, signature }: { userId: string; signature?: string | undefined },
  ): Promise<void> {
    if (access.by !== "key") return;
    if (access.kind === "publishable") checkKeyOrigin(access, request.headers.get("origin"));
    await rateLimits.of(access)?.take(1);
    const refusal = signatureProblem(access, userId, signature, secrets);
    if (refusal) throw refusal;
  }

  async function joinOne(
    access: Access,
    by: JoinedBy,
    { id, userId }: { id: string; userId: string },
    body: object,
  ): Promise<JoinResult> {
    const name = access.by === "key" ? access.keyName : access.account.email;
    const joining = { id, userId, by, name, identifies: by === "identify" };
    const [result] = await joinAll(store, access.projectId, [joining]);
    const isRefused = result instanceof ProblemError && tellingProblems.has(result.code);
    if (!isRefused || !isPublishable(access)) return result!;
    // Whoever reads the page could ask who is a known user. So only the project's members see the refusal.
    const { detail } = result.options;
    await rejected.keep(
      [{ body: JSON.stringify(body), problem: problem("body-invalid", { detail }) }],
      access,
    );
    return false;
  }

  routes.add(
    {
      method: "post",
      path: "/api/identify",
      operationId: "identifyUser",
      by: "users:identify",
      tag: "Users",
      summary: "Identify a user",
      description:
        "Says that a user is known, joins an anonymous ID to them and merges properties. From then on both IDs are one person, for past events too. Publishable keys need a signature, can't set properties, and aren't told of 409. See docs/people.md.",
      query: ProjectQuery,
      body: Identification,
      response: IdentifiedResponse,
      problems: [409],
    },
    async ({ request, body, ...access }) => {
      const { userId, anonymousId = userId, properties } = body;
      if (isPublishable(access) && properties !== undefined)
        throw problem("key-insufficient", {
          detail:
            "A publishable key can't set properties, because whoever reads the page could change any user. Send them from your server with a secret key.",
        });
      await checkSender(access, request, body);
      const joined = await joinOne(access, "identify", { id: anonymousId, userId }, body);
      // A browser that two people share is no reason to lose what is known of the second.
      const isIdentified = typeof joined === "boolean" || joined.code === "id-taken";
      if (isIdentified && properties !== undefined)
        await patchProperties(store, access.projectId, userId, properties, null);
      if (joined instanceof ProblemError) throw joined;
      return { userId, ...(access.mayRead && { joined }) };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/alias",
      operationId: "aliasUser",
      by: "users:identify",
      tag: "Users",
      summary: "Join an anonymous ID to a user",
      description:
        "Makes two IDs one person, for past events too. The previous ID must be anonymous: nothing identified it before. Publishable keys need a signature and aren't told of 409. See docs/people.md.",
      query: ProjectQuery,
      body: Alias,
      response: IdentifiedResponse,
      problems: [409],
    },
    async ({ request, body, ...access }) => {
      await checkSender(access, request, body);
      const { userId, previousId } = body;
      const joined = await joinOne(access, "alias", { id: previousId, userId }, body);
      if (joined instanceof ProblemError) throw joined;
      return { userId, ...(access.mayRead && { joined }) };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/users/{userId}/merge",
      operationId: "mergeUsers",
      by: "users:change",
      tag: "Users",
      summary: "Merge two users",
      description:
        "Makes another user a part of this one, with all their IDs. If one of them is anonymous, the known one stays, whichever the path names. Two known users need `force`. `POST /api/users/{userId}/split` undoes it.",
      query: ProjectQuery,
      body: Merge,
      response: MergeResponse,
      problems: [409],
    },
    async ({ body, parameter, ...call }) => {
      const userId = parameter("userId");
      checkUserId(userId);
      await makeChange(store.control, call, (change) => mergeUsers(change, userId, body));
      peopleChanged(store.control, call.projectId);
      const user = call.mayRead ? await findUser(store, call.projectId, userId) : null;
      return { user: user ?? { userId } };
    },
  );

  routes.add(
    {
      method: "post",
      path: "/api/users/{userId}/split",
      operationId: "splitUser",
      by: "users:change",
      tag: "Users",
      summary: "Split an ID off",
      description:
        "Undoes a merge: the ID becomes a user of its own again, with the IDs that were joined to it before, and with the properties that it had. Its events count for it alone. The main ID of a user can't be split off.",
      query: ProjectQuery,
      response: SplitResponse,
      problems: [409],
    },
    async ({ parameter, ...call }) => {
      const userId = parameter("userId");
      checkUserId(userId);
      const split = await makeChange(store.control, call, (change) => splitId(change, userId));
      peopleChanged(store.control, call.projectId);
      await recountUsers(store, call.projectId, [userId, split.from]);
      const { ids, from } = split;
      return { userId, ...(call.mayRead && { ids, from }) };
    },
  );
}

function isPublishable(access: Access): boolean {
  return access.by === "key" && access.kind === "publishable";
}
