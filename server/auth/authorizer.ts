import type { Kysely } from "kysely";
import type { Access, Account, Caller, CallerLookup } from "../http/caller.ts";
import { problem } from "../problems.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type ApiKeyCache, secretOf } from "./api-key-cache.ts";
import { type Auth, type Session, sessionOf } from "./auth.ts";

type Rooms = { control: Kysely<ControlTables>; auth: Auth; keys: ApiKeyCache; baseUrl: string };

/** Decides who may act where. */
export class Authorizer implements CallerLookup {
  readonly #rooms: Rooms;

  constructor(rooms: Rooms) {
    this.#rooms = rooms;
  }

  /**
   * Lets a key into its project, or a signed-in member into the project that `?project=` names.
   *
   * Throws `key-missing`, `key-invalid`, `origin-forbidden`, `project-unknown` and `project-forbidden`.
   */
  async toProject(request: Request): Promise<Access> {
    if (secretOf(request.headers) === null && request.headers.has("cookie")) return this.#member(request);
    const { keyId, projectId, knownChannelsOnly } = await this.#rooms.keys.identify(request.headers);
    if (URL.parse(request.url, this.#rooms.baseUrl)?.searchParams.has("project")) {
      throw problem("query-invalid", {
        detail: 'An API key belongs to one project. Omit "project".',
      });
    }
    return { by: "key", keyId, projectId, knownChannelsOnly };
  }

  /** The same for members alone. Throws `sign-in-needed` and `key-insufficient` as well. */
  async toProjectAsMember(request: Request): Promise<Extract<Access, { by: "account" }>> {
    return this.#member(request);
  }

  /** A key or a signed-in account. Throws `key-missing`, `key-invalid` and `origin-forbidden`. */
  async toCaller(request: Request): Promise<Caller> {
    if (secretOf(request.headers) === null && request.headers.has("cookie")) {
      return { by: "account", account: await this.toAccount(request) };
    }
    const { projectId } = await this.#rooms.keys.identify(request.headers);
    return { by: "key", projectId };
  }

  /** The signed-in account. Throws `sign-in-needed`, `origin-forbidden`, and for a key `key-invalid` or `key-insufficient`. */
  async toAccount(request: Request): Promise<Account> {
    return (await this.#session(request)).account;
  }

  async #session(request: Request): Promise<Session> {
    const session = await sessionOf(this.#rooms.auth, request.headers);
    if (!session) {
      if (secretOf(request.headers) !== null) {
        await this.#rooms.keys.identify(request.headers);
        throw problem("key-insufficient", {
          detail: "An API key can't do this. Sign in to the dashboard.",
        });
      }
      throw problem("sign-in-needed", { detail: "Sign in to the dashboard first." });
    }
    this.checkOrigin(request);
    return session;
  }

  /** A cookie comes along from any page: what changes something must come from our own (OWASP, CSRF prevention). */
  checkOrigin(request: Request): void {
    if (request.method === "GET" || request.method === "HEAD") return;
    const origin = request.headers.get("origin");
    if (origin === null) {
      if (request.headers.get("sec-fetch-site") === "same-origin") return;
    } else if (origin === this.#rooms.baseUrl || URL.parse(origin)?.host === request.headers.get("host"))
      return;
    throw problem("origin-forbidden", {
      detail: "A session works only for requests from the dashboard's own pages.",
    });
  }

  async #member(request: Request): Promise<Extract<Access, { by: "account" }>> {
    const { id: sessionId, account } = await this.#session(request);
    const slug = URL.parse(request.url, this.#rooms.baseUrl)?.searchParams.get("project") ?? null;
    const projects = await this.#rooms.control
      .selectFrom("members")
      .innerJoin("projects", "projects.id", "members.projectId")
      .select(["projects.id", "projects.knownChannelsOnly", "members.role"])
      .where("members.accountId", "=", account.id)
      .$if(slug !== null, (query) => query.where("projects.slug", "=", slug!))
      .limit(2)
      .execute();
    const [project, another] = projects;
    if (another)
      throw problem("query-invalid", {
        detail: 'Several projects are possible. Add "?project=" with a project\'s slug.',
      });
    // Whether a project of another's exists is not told.
    if (!project)
      throw problem("project-unknown", { detail: "You are not a member of a project with this slug." });
    return {
      by: "account",
      account,
      sessionId,
      role: project.role,
      projectId: project.id,
      knownChannelsOnly: project.knownChannelsOnly === 1,
    };
  }
}
