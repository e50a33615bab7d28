const recorderPath = "/recorder.js";
const complaintsPath = "/recorded-complaints";

/** Reports uncaught errors, console errors and violations of the page's policy. */
const recorder = `{
  // In WebKit and Firefox, a stack lacks the message.
  const report = (...parts) => navigator.sendBeacon("${complaintsPath}", parts.map((part) => [part, part?.stack ?? ""].join(" ")).join(" "));
  addEventListener("error", ({ error, message }) => report(message, error));
  addEventListener("unhandledrejection", ({ reason }) => report("Unhandled rejection:", reason));
  addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) => report("Blocked by", effectiveDirective, blockedURI));
  const { error } = console;
  console.error = (...parts) => { report(...parts); error(...parts); };
}`;

/**
 * A proxy to a server whose pages report their errors to it, because they load a script that does so before any other.
 *
 * @param onComplaint - called with each error
 */
export function recordingProxy(target: string, onComplaint: (complaint: string) => void) {
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    // Streams of events have long pauses.
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search } = new URL(request.url);
      if (pathname === recorderPath)
        return new Response(recorder, { headers: { "content-type": "text/javascript" } });
      if (pathname === complaintsPath) {
        onComplaint(await request.text());
        return new Response();
      }
      const isPage = request.headers.get("accept")?.includes("text/html") ?? false;
      const headers = new Headers(request.headers);
      if (isPage) for (const name of ["accept-encoding", "if-none-match"]) headers.delete(name);
      const response = await fetch(target + pathname + search, {
        method: request.method,
        headers,
        body: request.body,
        redirect: "manual",
        decompress: isPage,
        signal: request.signal,
      }).catch(() => new Response("The server can't be reached.", { status: 502 }));
      if (!isPage) return response;
      const html = await response.text();
      const own = new Headers(response.headers);
      for (const name of ["content-encoding", "content-length"]) own.delete(name);
      return new Response(html.replace("<head>", `<head><script src="${recorderPath}"></script>`), {
        status: response.status,
        headers: own,
      });
    },
  });
  return { origin: server.url.origin, stop: () => server.stop(true) };
}
