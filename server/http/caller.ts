import type { Project } from "../wire/project.ts";

/** A person who is signed in. */
export type Account = { id: string; name: string; email: string };

/** Who asks, and in which project: a key in its own, or a member of one. */
export type Access = { projectId: number; knownChannelsOnly: boolean } & (
  | { by: "key"; keyId: string }
  | { by: "account"; account: Account; sessionId: string; role: Project["role"] }
);

/** Who asks, whatever the project: a key in its own, or an account. */
export type Caller = { by: "key"; projectId: number } | { by: "account"; account: Account };

/** Finds who sent a request, and throws where they may not act there. */
export type CallerLookup = {
  /** A key in its project, or a signed-in member in the project that `?project=` names. */
  toProject: (request: Request) => Promise<Access>;
  toProjectAsMember: (request: Request) => Promise<Extract<Access, { by: "account" }>>;
  toAccount: (request: Request) => Promise<Account>;
  toCaller: (request: Request) => Promise<Caller>;
};
