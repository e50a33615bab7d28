import { problem } from "../core/problems.ts";

/** The origin of nearly all requests: the last one that was valid. */
let lastValidOrigin = "http://localhost/";

/**
 * Checks that a request's `Host` is valid, so that its URL can be parsed (RFC 9112, section 3.2). HTTP/1.0 requests
 * need none; their URL is only a path. Throws `host-invalid`.
 */
export function checkHost(request: Request): void {
  const { url } = request;
  if (url.startsWith(lastValidOrigin)) return;
  if (URL.canParse(url)) {
    lastValidOrigin = url.slice(0, url.indexOf("/", url.indexOf("//") + 2) + 1) || lastValidOrigin;
  } else if (request.headers.get("host") !== null) {
    throw problem("host-invalid", {
      detail: "The Host header must be a host name, such as tidings.example.com.",
    });
  }
}
