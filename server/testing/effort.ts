const isLong = process.env.TIDINGS_TEST_LONG === "1";

/** How much a test does: a little in `npm test`, much in `npm run test:long`. */
export function effort<Amount>(quick: Amount, long: Amount): Amount {
  return isLong ? long : quick;
}
