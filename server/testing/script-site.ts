/** What goes wrong on a page, and what a test wants to happen before the script runs. */
const recorder = `{
  const report = (...parts) => navigator.sendBeacon("/complaints", parts.join(" "));
  addEventListener("error", ({ message }) => report(message));
  addEventListener("unhandledrejection", ({ reason }) => report("Unhandled rejection:", reason));
  addEventListener("securitypolicyviolation", ({ effectiveDirective, blockedURI }) => report("Blocked by", effectiveDirective, blockedURI));
  for (const level of ["error", "warn", "info", "log", "debug"]) console[level] = (...parts) => report("Console:", ...parts);
  // The download itself would leave a file behind.
  addEventListener("click", (event) => event.target.closest("[download]") && event.preventDefault());
  addEventListener("click", ({ target }) => { if (target.id === "throw") throw new RangeError("Thrown"); });
  addEventListener("click", ({ target }) => { if (target.id === "reject") Promise.reject(new TypeError("Rejected")); });
}`;

/** How pages of the site are. Tests change it before they load one. */
type SiteSettings = {
  /** Attributes of the script's element. */
  attributes: string;
  /** A script that runs before that of Tidings. */
  before: string;
  /** Response headers, instead of a strict content security policy. */
  headers: Record<string, string> | null;
};

/**
 * A site whose pages have the script of a Tidings server, and report all of their errors, console messages and
 * violations of their content security policy. `/t` of the site passes events on to Tidings.
 *
 * @param key - a publishable API key
 */
export function scriptSite(address: string, key: string) {
  const settings: SiteSettings = { attributes: "", before: "", headers: null };
  let complaints: string[] = [];
  let server = serve(0);
  const port = server.port!;

  function serve(at: number) {
    return Bun.serve({ port: at, hostname: "127.0.0.1", fetch: respond });
  }

  async function respond(request: Request): Promise<Response> {
    const { pathname } = new URL(request.url);
    switch (pathname) {
      case "/complaints":
        complaints.push(await request.text());
        return new Response(null, { status: 204 });
      case "/before.js":
        return new Response(recorder + settings.before, { headers: { "content-type": "text/javascript" } });
      case "/icon":
        return new Response(null, { status: 204 });
      case "/t":
        return fetch(`${address}/t`, {
          method: request.method,
          headers: request.headers,
          body: await request.text(),
        });
      case "/from":
        return page(`<a id="in" href="${at("/?utm_source=news&token=secret")}">To the shop</a>`);
      case "/elsewhere":
        return page("Elsewhere");
      default:
        return new Response(html(), {
          status: pathname === "/missing" ? 404 : 200,
          headers: {
            "content-type": "text/html; charset=utf-8",
            ...(settings.headers ?? { "content-security-policy": policy }),
          },
        });
    }
  }

  const policy = `default-src 'none'; script-src 'self' ${address}; connect-src 'self' ${address}; form-action 'self'; img-src 'self'`;
  const at = (path: string) => `http://127.0.0.1:${port}${path}`;
  /** The same server is another site by its name. */
  const elsewhere = (path: string) => `http://localhost:${port}${path}`;

  function html(): string {
    return `<!doctype html><html lang="en"><title>Shop</title><link rel="icon" href="/icon">
<script src="/before.js"></script>
<script defer src="${address}/t.js" data-key="${key}" ${settings.attributes}></script>
<a id="out" href="${elsewhere("/elsewhere?token=secret")}">Elsewhere</a>
<a id="file" href="/price-list.pdf" download>Price list</a>
<button id="throw">Throw</button> <button id="reject">Reject</button>
<button id="plan" data-tidings-event="Plan chosen" data-tidings-plan="pro" data-tidings-price-eur="9"><b>Pro</b></button>
<form id="contact" action="/sent" method="get"><input name="id" value="secret"><button id="send">Send</button></form>
<form data-tidings-event="Signed up" data-tidings-from="footer" action="/sent"><button id="sign-up">Sign up</button></form>
<pre>${"A long page\n".repeat(200)}</pre>`;
  }

  return {
    settings,
    at,
    elsewhere,
    /** What pages reported since the last call. */
    takeComplaints(): string[] {
      const taken = complaints;
      complaints = [];
      return taken;
    },
    /** From now on, no connection is accepted. */
    goDown: () => server.stop(true),
    comeBack(): void {
      server = serve(port);
    },
    [Symbol.asyncDispose]: () => server.stop(true),
  };
}

export type ScriptSite = ReturnType<typeof scriptSite>;

function page(body: string): Response {
  const html = `<!doctype html><html lang="en"><title>Page</title><link rel="icon" href="/icon">${body}`;
  return new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } });
}
