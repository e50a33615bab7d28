const counterMax = 0xfff;
const counterSeedMax = 0x7ff;

/**
 * Returns a generator of event ids: UUIDv7 (RFC 9562, section 5.7), each greater than the one before.
 *
 * Within a millisecond, and when the clock is set back, the 12 bits of `rand_a` count up from a random seed (section
 * 6.2, method 1). If they are used up, the timestamp runs a millisecond ahead. 62 random bits follow, so that two
 * clients never create the same id.
 *
 * @param now - milliseconds since 1970
 */
export function createEventIds(
  now: () => number = Date.now,
  randomize: (bytes: Uint8Array<ArrayBuffer>) => void = fillRandomly,
): () => string {
  let lastMs = -1;
  let counter = 0;
  return () => {
    const bytes = new Uint8Array(10);
    randomize(bytes);
    const seed = ((bytes[0]! << 8) | bytes[1]!) & counterSeedMax;
    const ms = now();
    if (ms > lastMs) {
      lastMs = ms;
      counter = seed;
    } else if (counter < counterMax) {
      counter++;
    } else {
      lastMs++;
      counter = seed;
    }
    bytes[2] = (bytes[2]! & 0x3f) | 0x80;
    const tail = Array.from(bytes.subarray(2), (byte) => hex(byte, 2)).join("");
    const digits = `${hex(lastMs, 12)}7${hex(counter, 3)}${tail}`;
    return digits.replace(/(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
  };
}

/** Node 18 has no global `crypto`. Ids must be unique, not secret, so `Math.random` will do there. */
function fillRandomly(bytes: Uint8Array<ArrayBuffer>): void {
  if (globalThis.crypto) crypto.getRandomValues(bytes);
  else for (const index of bytes.keys()) bytes[index] = Math.random() * 256;
}

function hex(value: number, width: number): string {
  return value.toString(16).padStart(width, "0");
}
