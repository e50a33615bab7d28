import { limits } from "../../core/limits.ts";

const maxima = {
  users: limits.analysisUsers,
  followedUsers: limits.analysisFollowedUsers,
  pairs: limits.analysisPairs,
  values: limits.statsSplitValues,
  names: limits.statsSplitValues,
  properties: limits.statsSplitValues,
  groups: limits.statsSplitValues,
  memberships: limits.analysisPairs,
  events: limits.analysisEvents,
  places: limits.analysisPlaces,
};

/** What an analysis has too many of. */
export type TooMany = keyof typeof maxima;

/** An analysis needs more memory than it may use. */
export class TooLargeError extends Error {
  readonly of: TooMany;

  constructor(of: TooMany) {
    super(`An analysis has more than ${maxima[of]} ${of}.`);
    this.of = of;
  }

  /** Throws it if there is no room for one more. */
  static check(of: TooMany, count: number): void {
    if (count >= maxima[of]) throw new TooLargeError(of);
  }
}

/** Waits for a scan whose values are something else, and throws `TooLargeError` of that. */
export async function tooMany(of: TooMany, scanned: Promise<void>): Promise<void> {
  try {
    await scanned;
  } catch (error) {
    throw error instanceof TooLargeError && error.of === "values" ? new TooLargeError(of) : error;
  }
}
