import type { UserTerm } from "./event-queries.ts";

/** SQL conditions for users who match all terms. */
type TermConditions = {
  /** On the table `users`, which has the properties. */
  ofUser: string;
  /** On an ID alone, for users without properties; null if none of these can match. */
  ofId: string | null;
};

/**
 * The same columns for an ID that is joined to a person: a user matches by any ID, and by the properties of the person. A
 * character that no ID has is between the two.
 */
export const personColumns = {
  user_id: "(person_id || '\u0001' || user_id)",
  properties:
    "coalesce((SELECT properties FROM users WHERE users.project_id = person_ids.project_id AND users.user_id = person_ids.person_id), '')",
} as const;

/**
 * @param lower - makes the expression of a column in lower case
 * @param parameter - adds a value, and returns its placeholder
 */
export function conditionsOf(
  terms: readonly UserTerm[],
  lower: (column: "user_id" | "properties") => string,
  parameter: (value: string) => string,
): TermConditions {
  const ofIds: (string | null)[] = [];
  const ofUsers = terms.map(({ id, properties }) => {
    const ofId = id === null ? null : `${lower("user_id")} LIKE ${parameter(id)}`;
    ofIds.push(ofId);
    const ofProperties = properties.map((pattern) => `${lower("properties")} LIKE ${parameter(pattern)}`);
    return `(${[...(ofId === null ? [] : [ofId]), ...ofProperties].join(" OR ")})`;
  });
  return {
    ofUser: ofUsers.join(" AND ") || "TRUE",
    ofId: ofIds.includes(null) ? null : ofIds.join(" AND ") || "TRUE",
  };
}
