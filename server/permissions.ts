/** Roles in a project, from the most to the least powerful. Each may do everything that the ones after it may do. */
export const roles = ["owner", "admin", "member", "viewer"] as const;
export type Role = (typeof roles)[number];

/** Scopes of secret API keys. */
export const scopes = ["ingest", "read", "manage"] as const;
export type Scope = (typeof scopes)[number];

export const keyKinds = ["secret", "publishable"] as const;
export type KeyKind = (typeof keyKinds)[number];

type Permission = {
  /** What it allows, for the documentation. */
  allows: string;
  /** The least powerful role that has it. */
  role: Role;
  /** The scope that a secret key needs. Null: keys can't do this. */
  scope: Scope | null;
  /** Whether publishable keys have it. */
  publishable?: true;
};

/** Who may do what in a project. Each route names one of these, and docs/permissions.md is generated from it. */
export const permissions = {
  "events:send": { allows: "Send events", role: "member", scope: "ingest", publishable: true },
  "events:read": {
    allows: "Read events, channels, users, charts, boards and jobs",
    role: "viewer",
    scope: "read",
  },
  "events:delete": { allows: "Delete an event", role: "member", scope: "manage" },
  "rejected:read": { allows: "Read rejected events", role: "viewer", scope: "read" },
  "rejected:change": { allows: "Resend or discard rejected events", role: "member", scope: "manage" },
  "channels:change": { allows: "Create, change and archive channels", role: "member", scope: "manage" },
  "channels:delete": { allows: "Delete a channel with its events", role: "admin", scope: "manage" },
  "users:change": { allows: "Set the properties of users", role: "member", scope: "ingest" },
  "users:erase": { allows: "Erase a user", role: "admin", scope: "manage" },
  "boards:change": {
    allows: "Create, change and delete boards, and delete values",
    role: "member",
    scope: "manage",
  },
  "boards:publish": { allows: "Create and end public links of boards", role: "admin", scope: null },
  "insights:set": { allows: "Set values for boards", role: "member", scope: "ingest" },
  "rules:read": { allows: "List rules, destinations and deliveries", role: "viewer", scope: "read" },
  "rules:manage": {
    allows: "Create, change and delete rules and destinations, and retry deliveries",
    role: "admin",
    scope: "manage",
  },
  "views:own": {
    allows: "Save views for oneself, pin channels and mark them as read",
    role: "viewer",
    scope: null,
  },
  "views:share": { allows: "Save, change and delete views of the project", role: "member", scope: null },
  "webhooks:read": { allows: "List webhooks", role: "viewer", scope: "read" },
  "webhooks:manage": {
    allows: "Create, change, rotate and delete webhooks, see and resend what they received",
    role: "admin",
    scope: null,
  },
  "keys:manage": { allows: "List, create, change, rotate and revoke API keys", role: "admin", scope: null },
  "members:read": { allows: "List members", role: "viewer", scope: null },
  "members:manage": { allows: "Invite and remove members, change their roles", role: "admin", scope: null },
  "project:leave": { allows: "Leave the project", role: "viewer", scope: null },
  "project:change": { allows: "Change the project's name and settings", role: "admin", scope: null },
  "project:transfer": { allows: "Make another member the owner", role: "owner", scope: null },
  "project:delete": { allows: "Delete the project", role: "owner", scope: null },
  "audit:read": { allows: "Read the audit log", role: "admin", scope: "manage" },
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
