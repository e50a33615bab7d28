import { ApiError } from "../api.ts";

/** How often somebody else may be faster. */
const triesMax = 5;

/**
 * Makes a change that is relative, such as adding something, and so applies to any version. If there is a newer
 * version, it is applied to that.
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
