import type { Kysely } from "kysely";
import { permissionTexts } from "../core/permission-texts.ts";
import {
  keyMay,
  type MemberPermission,
  type PermissionName,
  permissions,
  roleMay,
} from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import type { Access, Account, Caller, CallerLookup, KeyAccess, MemberAccess } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type ApiKeyCache, secretOf } from "./api-key-cache.ts";
import { type Auth, type Session, sessionOf } from "./auth.ts";

type Deps = { control: Kysely<ControlTables>; auth: Auth; keys: ApiKeyCache; baseUrl: string };

/** Authenticates and authorizes requests. */
export class Authorizer implements CallerLookup {
  readonly #deps: Deps;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /**
   * Authorizes a key for its project, or a signed-in member for the project with the slug, which defaults to
   * `?project=`.
   *
   * Throws `key-missing`, `key-invalid`, `key-insufficient`, `sign-in-needed`, `origin-forbidden`, `project-unknown` and
   * `role-insufficient`.
   */
  async toProject<Name extends PermissionName>(
    request: Request,
    permission: Name,
    slug?: string,
  ): Promise<Name extends MemberPermission ? MemberAccess : Access>;
  async toProject(request: Request, permission: PermissionName, slug?: string): Promise<Access> {
    const isForKeys = permissions[permission].scope !== null;
    const hasKey = secretOf(request.headers) !== null;
    if (!isForKeys || (!hasKey && request.headers.has("cookie")))
      return this.#member(request, permission, slug);
    const key = await this.#deps.keys.identify(request);
    if (URL.parse(request.url, this.#deps.baseUrl)?.searchParams.has("project")) {
      throw problem("query-invalid", {
        detail: 'An API key belongs to one project. Omit "project".',
      });
    }
    checkKey(key, permission);
    return key;
  }

  /** A key that may read, or a signed-in account. Throws `key-missing`, `key-invalid`, `key-insufficient` and `origin-forbidden`. */
  async toCaller(request: Request): Promise<Caller> {
    if (secretOf(request.headers) === null && request.headers.has("cookie")) {
      return { by: "account", account: await this.toAccount(request) };
    }
    const key = await this.#deps.keys.identify(request);
    checkKey(key, "events:read");
    return key;
  }

  /**
   * The signed-in account. Throws `sign-in-needed`, `origin-forbidden`, and with an API key `key-invalid` or
   * `key-insufficient`.
   */
  async toAccount(request: Request): Promise<Account> {
    return (await this.#session(request)).account;
  }

  async #session(request: Request): Promise<Session> {
    const session = await sessionOf(this.#deps.auth, request.headers);
    if (!session) {
      if (secretOf(request.headers) !== null) {
        await this.#deps.keys.identify(request);
        throw problem("key-insufficient", {
          detail: "An API key can't do this. Sign in to the dashboard.",
        });
      }
      throw problem("sign-in-needed", { detail: "Sign in to the dashboard first." });
    }
    this.checkOrigin(request);
    return session;
  }

  /**
   * Browsers may send a cookie from any site, so requests that change something must come from our own (OWASP, CSRF
   * prevention). `Sec-Fetch-Site` decides, and `Origin` where browsers don't send it: over plain HTTP.
   */
  checkOrigin(request: Request): void {
    if (request.method === "GET" || request.method === "HEAD") return;
    const site = request.headers.get("sec-fetch-site");
    if (site === "same-origin") return;
    const origin = request.headers.get("origin");
    const isOwn =
      origin !== null &&
      (origin === this.#deps.baseUrl || URL.parse(origin)?.host === request.headers.get("host"));
    if (site === null && isOwn) return;
    throw problem("origin-forbidden", {
      detail: "A session works only for requests from the dashboard's own pages.",
    });
  }

  async #member(
    request: Request,
    permission: PermissionName,
    slugInPath: string | undefined,
  ): Promise<MemberAccess> {
    const { id: sessionId, account } = await this.#session(request);
    const { searchParams } = new URL(request.url, this.#deps.baseUrl);
    const slug = slugInPath ?? searchParams.get("project");
    const projects = await this.#deps.control
      .selectFrom("members")
      .innerJoin("projects", "projects.id", "members.projectId")
      .select(["projects.id", "projects.knownChannelsOnly", "projects.eventsPerDay", "members.role"])
      .where("members.accountId", "=", account.id)
      .$if(slug !== null, (query) => query.where("projects.slug", "=", slug!))
      .limit(2)
      .execute();
    const [project, another] = projects;
    if (another)
      throw problem("query-invalid", {
        detail: 'You are a member of several projects. Add "?project=" with the slug of one.',
      });
    // Doesn't reveal whether the project exists.
    if (!project)
      throw problem("project-unknown", { detail: "You are not a member of a project with this slug." });
    if (!roleMay(project.role, permission)) {
      const { role } = permissions[permission];
      throw problem("role-insufficient", {
        detail: `Your role in this project is ${project.role}. This needs the role ${role}: ${permissionTexts[permission].toLowerCase()}.`,
      });
    }
    return {
      by: "account",
      account,
      sessionId,
      role: project.role,
      projectId: project.id,
      knownChannelsOnly: project.knownChannelsOnly === 1,
      eventsPerDay: project.eventsPerDay,
      mayRead: roleMay(project.role, "events:read"),
    };
  }
}

/** Throws `key-insufficient`. */
export function checkKey(key: KeyAccess, permission: PermissionName): void {
  if (keyMay(key, permission)) return;
  const { scope } = permissions[permission];
  const allows = permissionTexts[permission];
  const has =
    key.kind === "publishable"
      ? "A publishable key can only send events."
      : `This key's scopes are ${[...key.scopes].join(", ")}.`;
  throw problem("key-insufficient", {
    detail: `${has} To ${allows[0]!.toLowerCase()}${allows.slice(1)}, use a secret key with the scope ${scope}.`,
  });
}
