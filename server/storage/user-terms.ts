import type { UserTerm } from "./event-queries.ts";

/** SQL conditions for users who match all terms. */
type TermConditions = {
  /** On the table `users`, which has the properties. */
  ofUser: string;
  /** On an ID alone, for users without properties; null if none of these can match. */
  ofId: string | null;
};

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
