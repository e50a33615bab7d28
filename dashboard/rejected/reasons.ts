import type { Problem } from "../../server/problems.ts";

/** Everything that is wrong with an event, without duplicates. */
export function reasonsIn({ detail, errors }: Pick<Problem, "detail" | "errors">): string[] {
  return errors?.length ? [...new Set(errors.map((each) => each.detail))] : [detail];
}
