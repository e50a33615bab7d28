/**
 * IDs that many people share because of a mistake in an application: joining one would make these people one. PostHog
 * refuses the same ones (https://posthog.com/docs/product-analytics/identify).
 */
const sharedIds = new Set([
  "anonymous",
  "guest",
  "distinctid",
  "distinct_id",
  "userid",
  "user_id",
  "anonymousid",
  "id",
  "not_authenticated",
  "email",
  "undefined",
  "null",
  "none",
  "nil",
  "nan",
  "true",
  "false",
  "0",
  "-1",
  "[object object]",
  '""',
  "''",
]);

/** Whether an ID is one that mistakes produce, so that it doesn't name one person. */
export function isSharedId(userId: string): boolean {
  const id = userId.trim().toLowerCase();
  return id === "" || sharedIds.has(id) || /^[0-]+$/.test(id);
}
