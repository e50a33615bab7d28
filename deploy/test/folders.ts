import { join } from "node:path";

export const root = join(import.meta.dir, "../..");
/** What the tests of containers keep between runs. */
export const cache = join(root, "node_modules/.cache/tidings-containers");
