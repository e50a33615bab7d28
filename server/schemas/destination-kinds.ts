/** Where an account is notified. */
export const accountDestinationKinds = ["dashboard", "browser", "email"] as const;

/** Where a project's notifications go besides its members. `server/notifications/kinds/` has a file for each. */
export const projectDestinationKinds = [
  "webhook",
  "slack",
  "discord",
  "telegram",
  "teams",
  "ntfy",
  "gotify",
  "pushover",
  "matrix",
  "apprise",
] as const;

export const destinationKinds = [...accountDestinationKinds, ...projectDestinationKinds] as const;
