import type { KeyKind, PermissionName, Role, Scope } from "../core/permissions.ts";
import type { KeyIdentify } from "../schemas/key-identify.ts";

/** A signed-in account. */
export type Account = { id: string; name: string; email: string };

/** The project of a request, with what recording its events depends on. */
export type ProjectAccess = {
  projectId: number;
  knownChannelsOnly: boolean;
  /** Null is unlimited. */
  eventsPerDay: number | null;
  /**
   * Whether it may read events.
   *
   * Invariant: whoever may not read events gets nothing back that they didn't send. Checked by
   * `server/auth/sending-keys.test.ts`.
   */
  mayRead: boolean;
};

/** A signed-in member in a project. */
export type MemberAccess = ProjectAccess & {
  by: "account";
  account: Account;
  sessionId: string;
  role: Role;
};

/** An API key, which has access to its own project. */
export type KeyAccess = ProjectAccess & {
  by: "key";
  keyId: string;
  keyName: string;
  kind: KeyKind;
  scopes: ReadonlySet<Scope>;
  /** Origins of the pages that may use a publishable key; empty allows all. */
  origins: readonly string[];
  /** Null is unlimited. */
  eventsPerSecond: number | null;
  /** Whether a publishable key needs signatures to join IDs, and its sealed secret for them. */
  identify: KeyIdentify;
  identitySecret: string | null;
  /** Whether it may send events from anywhere and at any rate. */
  isUnrestricted: boolean;
};

/** Who makes a request, and in which project: a key in its own, or a member. */
export type Access = MemberAccess | KeyAccess;

/** Who makes a request that isn't about one project: a key or an account. */
export type Caller = KeyAccess | { by: "account"; account: Account };

/** Authenticates and authorizes requests. Throws if the caller may not make the request. */
export type CallerLookup = {
  /**
   * A key in its own project, or a signed-in member in the project with the slug, which defaults to `?project=`. Both
   * must have the permission.
   */
  toProject: (request: Request, permission: PermissionName, slug?: string) => Promise<Access>;
  toAccount: (request: Request) => Promise<Account>;
  toCaller: (request: Request) => Promise<Caller>;
};

/** Who does something, as the audit log names them. */
export type Actor = {
  kind: "account" | "key" | "command" | "server" | "nobody";
  /** Of the account or key. */
  id: string | null;
  /** The account's email address or the key's name. */
  name: string | null;
  address: string | null;
  userAgent: string | null;
};
