import type { Project } from "../wire/project.ts";

/** A signed-in account. */
export type Account = { id: string; name: string; email: string };

/** Who makes a request, and in which project: a key in its own, or a member. */
export type Access = { projectId: number; knownChannelsOnly: boolean } & (
  | { by: "key"; keyId: string }
  | { by: "account"; account: Account; sessionId: string; role: Project["role"] }
);

/** Who makes a request that isn't about one project: a key or an account. */
export type Caller = { by: "key"; projectId: number } | { by: "account"; account: Account };

/** Authenticates requests. Throws if the caller may not make the request. */
export type CallerLookup = {
  /** A key in its own project, or a signed-in member in the project of `?project=`. */
  toProject: (request: Request) => Promise<Access>;
  toProjectAsMember: (request: Request) => Promise<Extract<Access, { by: "account" }>>;
  toAccount: (request: Request) => Promise<Account>;
  toCaller: (request: Request) => Promise<Caller>;
};
