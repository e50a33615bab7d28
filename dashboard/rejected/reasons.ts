import type { Problem } from "../../server/problems.ts";

/** Everything that is wrong with an event, once each. */
export function reasonsIn({ detail, errors }: Pick<Problem, "detail" | "errors">): string[] {
  return errors?.length ? [...new Set(errors.map((each) => each.detail))] : [detail];
}
