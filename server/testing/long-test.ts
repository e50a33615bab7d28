import { test } from "bun:test";
import { effort } from "./engine.ts";

/** A test that runs only in `npm run test:long`: a detail of a page, whose other tests always run. */
export const longTest = effort(test.skip, test);
