const isLong = process.env.TIDINGS_TEST_LONG === "1";

/** Chooses a test's size: `quick` in `npm test`, `long` in `npm run test:long`. */
export function effort<Amount>(quick: Amount, long: Amount): Amount {
  return isLong ? long : quick;
}
