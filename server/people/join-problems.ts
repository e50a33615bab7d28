import { limits } from "../core/limits.ts";
import { type ProblemError, problem } from "../core/problems.ts";

/** Why IDs are not joined. The texts name no IDs, so that those of many events are one reason. */

export function bothKnown(): ProblemError {
  return problem("user-known", {
    detail:
      "The ID was identified before, so it isn't joined to another user. If both are one person, merge them on the user's page, or with POST /api/users/{userId}/merge and \"force\": true.",
  });
}

export function taken(): ProblemError {
  return problem("id-taken", {
    detail:
      "The ID belongs to another known user: an anonymous ID stays with the user who signed in first. If it is wrong there, split it off on that user's page.",
  });
}

export function splitOff(): ProblemError {
  return problem("user-known", {
    detail:
      "The ID was split off before, so it joins a user only if you merge them on the user's page, or with POST /api/users/{userId}/merge.",
  });
}

export function tooManyIds(): ProblemError {
  return problem("limit-reached", {
    detail: `A user can have at most ${limits.idsOfPerson} IDs. Split off IDs that aren't theirs, or send the user's own ID after they signed in.`,
  });
}

export function tooManyJoined(): ProblemError {
  return problem("limit-reached", {
    detail: `This project has ${limits.joinedIds.toLocaleString("en")} joined IDs, the maximum. Erase users that you don't need.`,
  });
}
