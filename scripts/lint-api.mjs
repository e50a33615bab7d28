/** Lints docs/openapi.json by the rules of Redocly, with those for descriptions that it leaves to choice. */
import { fileURLToPath } from "node:url";
import { createConfig, lint } from "@redocly/openapi-core";

const config = await createConfig({
  extends: ["recommended-strict"],
  rules: {
    "operation-description": "error",
    "operation-singular-tag": "error",
    "operation-tag-defined": "error",
    "parameter-description": "error",
    "path-declaration-must-exist": "error",
    "spec-strict-refs": "error",
    "tags-alphabetical": "off",
  },
});

/** What is as it must be. */
const exceptions = [
  // IDs are UUIDs, so they can't be "rejected" or "token".
  ["no-ambiguous-paths", /~1events~1\{id\}~1(?:before|deliveries)$|~1invitations~1token~1\{token\}$/],
  // The clients of PostHog have them.
  ["no-path-trailing-slash", /\/paths\/~1(?:batch|e|i~1v0~1e|capture|flags|decide)~1$/],
  // Anyone may call them, with anything.
  [
    "operation-4xx-response",
    /\/(?:~1api~1setup|~1api~1sign-in|~1healthz|~1readyz)\/get\/|~1(?:flags|decide)(?:~1)?\/post\//,
  ],
];

const ref = fileURLToPath(new URL("../docs/openapi.json", import.meta.url));
const unused = new Set(exceptions);
let isClean = true;
for (const { ruleId, message, location } of await lint({ ref, config })) {
  const pointer = location[0]?.pointer ?? "";
  const exception = exceptions.find(([rule, places]) => rule === ruleId && places.test(pointer));
  unused.delete(exception);
  if (exception) continue;
  console.log(`${ruleId}: ${message} (${pointer})`);
  isClean = false;
}
for (const [rule, places] of unused) {
  console.log(`Nothing needs the exception of ${rule} for ${places}.`);
  isClean = false;
}
process.exit(isClean ? 0 : 1);
