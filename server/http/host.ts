import { problem } from "../problems.ts";

/** What the addresses of nearly all requests begin with. */
let usual = "http://localhost/";

/**
 * Checks that a request's `Host` is one, so that its address can be parsed (RFC 9112, section 3.2). HTTP/1.0 needs none: its address is
 * then a path alone. Throws `host-invalid`.
 */
export function checkHost(request: Request): void {
  const { url } = request;
  if (url.startsWith(usual)) return;
  if (URL.canParse(url)) usual = url.slice(0, url.indexOf("/", url.indexOf("//") + 2) + 1) || usual;
  else if (request.headers.get("host") !== null) {
    throw problem("host-invalid", {
      detail: "The Host header must be a host name, such as tidings.example.com.",
    });
  }
}
