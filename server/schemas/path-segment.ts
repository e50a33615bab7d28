/** Names and IDs that applications choose, as segments of a path. Without schemas, so that the dashboard can use it. */

/**
 * A text as a segment of a path. URLs lose the segments "." and "..", also encoded ones
 * (https://url.spec.whatwg.org/#path-state). So they begin with a "~", and a text that looks like one of these gets
 * another.
 */
export function pathSegment(text: string): string {
  return encodeURIComponent(withTilde(text));
}

/** The same without encoding, for a router that encodes. */
export function withTilde(text: string): string {
  return text.replace(/^(?=~*\.\.?$)/, "~");
}

/** The text of a segment that was decoded. */
export function withoutTilde(segment: string): string {
  return segment.replace(/^~(?=~*\.\.?$)/, "");
}
