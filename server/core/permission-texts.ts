import type { PermissionName } from "./permissions.ts";

/** What each permission allows, for the documentation and for members who lack it. */
export const permissionTexts: Record<PermissionName, string> = {
  "events:send": "Send events",
  "events:read": "Read events, channels, users, charts, boards and jobs",
  "events:delete": "Delete an event",
  "rejected:read": "Read rejected events",
  "rejected:change": "Resend or discard rejected events",
  "channels:change": "Create, change and archive channels",
  "channels:delete": "Delete a channel with its events",
  "users:change": "Set the properties of users",
  "users:erase": "Erase a user",
  "boards:change": "Create, change and delete boards, and delete insights",
  "boards:publish": "Create and end public links of boards",
  "insights:set": "Set insights for boards",
  "rules:read": "List rules, destinations and deliveries",
  "rules:manage": "Create, change and delete rules and destinations, and retry deliveries",
  "heartbeats:read": "List heartbeats and their pings",
  "heartbeats:manage": "Create, change and delete heartbeats, and see their addresses",
  "views:own": "Save views for oneself, pin channels and mark them as read",
  "views:share": "Save, change and delete views of the project",
  "webhooks:read": "List webhooks",
  "webhooks:manage":
    "Create, change, rotate and delete webhooks, see their addresses, see and resend what they received",
  "keys:manage": "List, create, change, rotate and revoke API keys",
  "members:read": "List members",
  "members:manage": "Invite and remove members, change their roles",
  "project:leave": "Leave the project",
  "project:change": "Change the project's name and settings",
  "project:transfer": "Make another member the owner",
  "project:delete": "Delete the project",
  "audit:read": "Read the audit log",
};
