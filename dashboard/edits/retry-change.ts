import { ApiError } from "../api.ts";

/** How often somebody else may be faster. */
const triesMax = 5;

/**
 * Makes a change that says what to do, such as adding something, and not what there is to be. If there is another
 * version by now, it is made to that one.
 */
export async function retryChange<Thing, Result>(
  thing: Thing,
  change: (thing: Thing) => Promise<Result>,
): Promise<Result> {
  for (let tries = 1, current = thing; ; tries++) {
    try {
      return await change(current);
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== "changed-meanwhile" || tries === triesMax)
        throw error;
      current = error.current as Thing;
    }
  }
}
