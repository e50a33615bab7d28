/**
 * The addresses that may have a key in them, because clients know no other way: any key in a webhook of Slack's and in the
 * address of a heartbeat, which cron jobs ping, and a publishable one, which is no secret, where libraries for browsers put it. Each pattern takes the URL from its start,
 * `http://host`, so that nothing in a query looks like a path.
 */
const places = [
  /^([^/?#]*\/\/[^/?#]*\/slack\/)[^/?#]+/,
  /^([^/?#]*\/\/[^/?#]*\/ping\/)tdg_\w+/,
  /^([^/?#]*\/\/[^/?#]*\/array\/)tdg_pk_\w+/,
  /^([^/?#]*\/\/[^/?#]*\/beacon\/v1\/batch\?(?:[^#]*&)?writeKey=)tdg_pk_\w+/,
];

/** A URL without the key where it may have one. A key anywhere else stays, and `checkUrl` finds it. */
export function withoutAllowedKey(url: string): string {
  for (const place of places) if (place.test(url)) return url.replace(place, "$1");
  return url;
}
