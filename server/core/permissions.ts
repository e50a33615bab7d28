/** Roles in a project, from the most to the least powerful. Each may do everything that the ones after it may do. */
export const roles = ["owner", "admin", "member", "viewer"] as const;
export type Role = (typeof roles)[number];

/** Scopes of secret API keys. */
export const scopes = ["ingest", "read", "manage"] as const;
export type Scope = (typeof scopes)[number];

export const keyKinds = ["secret", "publishable"] as const;
export type KeyKind = (typeof keyKinds)[number];

type Permission = {
  /** The least powerful role that has it. */
  role: Role;
  /** The scope that a secret key needs. Null: keys can't do this. */
  scope: Scope | null;
  /** Whether publishable keys have it. */
  publishable?: true;
};

/**
 * Who may do what in a project. Each route names one of these, and docs/permissions.md is generated from it.
 * `permission-texts.ts` has what each allows, apart from the dashboard's first load.
 */
export const permissions = {
  "events:send": { role: "member", scope: "ingest", publishable: true },
  "events:read": { role: "viewer", scope: "read" },
  "events:delete": { role: "member", scope: "manage" },
  "rejected:read": { role: "viewer", scope: "read" },
  "rejected:change": { role: "member", scope: "manage" },
  "channels:change": { role: "member", scope: "manage" },
  "channels:delete": { role: "admin", scope: "manage" },
  "users:change": { role: "member", scope: "ingest" },
  "users:identify": { role: "member", scope: "ingest", publishable: true },
  "users:erase": { role: "admin", scope: "manage" },
  "users:note": { role: "member", scope: null },
  "groups:change": { role: "member", scope: "manage" },
  "cohorts:change": { role: "member", scope: "manage" },
  "boards:change": { role: "member", scope: "manage" },
  "boards:publish": { role: "admin", scope: null },
  "annotations:read": { role: "viewer", scope: "read" },
  "annotations:change": { role: "member", scope: "manage" },
  "insights:set": { role: "member", scope: "ingest" },
  "rules:read": { role: "viewer", scope: "read" },
  "rules:manage": { role: "admin", scope: "manage" },
  "alerts:read": { role: "viewer", scope: "read" },
  "alerts:change": { role: "member", scope: "manage" },
  "silences:read": { role: "viewer", scope: "read" },
  "silences:change": { role: "member", scope: "manage" },
  "heartbeats:read": { role: "viewer", scope: "read" },
  "heartbeats:manage": { role: "admin", scope: "manage" },
  "on-call:read": { role: "viewer", scope: "read" },
  "on-call:take": { role: "member", scope: "manage" },
  "on-call:manage": { role: "admin", scope: "manage" },
  "reports:read": { role: "viewer", scope: "read" },
  "reports:own": { role: "viewer", scope: "manage" },
  "reports:manage": { role: "admin", scope: "manage" },
  "views:own": { role: "viewer", scope: null },
  "views:share": { role: "member", scope: null },
  "webhooks:read": { role: "viewer", scope: "read" },
  "webhooks:manage": { role: "admin", scope: null },
  "keys:manage": { role: "admin", scope: null },
  "members:read": { role: "viewer", scope: null },
  "members:manage": { role: "admin", scope: null },
  "project:leave": { role: "viewer", scope: null },
  "project:change": { role: "admin", scope: null },
  "project:transfer": { role: "owner", scope: null },
  "project:delete": { role: "owner", scope: null },
  "audit:read": { role: "admin", scope: "manage" },
} as const satisfies Record<string, Permission>;

export type PermissionName = keyof typeof permissions;
/** Permissions that only signed-in members have. */
export type MemberPermission = {
  [Name in PermissionName]: (typeof permissions)[Name]["scope"] extends null ? Name : never;
}[PermissionName];

export function roleMay(role: Role, permission: PermissionName): boolean {
  return roles.indexOf(role) <= roles.indexOf(permissions[permission].role);
}

export function keyMay(
  key: { kind: KeyKind; scopes: ReadonlySet<Scope> },
  permission: PermissionName,
): boolean {
  const { scope, publishable }: Permission = permissions[permission];
  return key.kind === "publishable" ? publishable === true : scope !== null && key.scopes.has(scope);
}
