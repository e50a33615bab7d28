/** Fails if a page is not in `docs/contents.json`, or a link in the documentation leads nowhere. */
import { findFaults } from "./pages.ts";

const faults = findFaults();
for (const fault of faults) console.error(fault);
process.exit(faults.length > 0 ? 1 : 0);
