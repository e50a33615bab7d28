import { clientAddresses } from "./client-address.ts";

/** The connections that requests come on. */
export class Connections {
  readonly #server: Pick<Bun.Server<undefined>, "requestIP" | "timeout">;
  readonly #baseUrl: string;
  readonly #clients: ReturnType<typeof clientAddresses>;
  /** The original of each HTTP/1.0 request without a host: Bun finds a connection only by the original request. */
  readonly #originalOf = new WeakMap<Request, Request>();

  constructor(
    server: Pick<Bun.Server<undefined>, "requestIP" | "timeout">,
    { baseUrl, trustedProxies }: { baseUrl: string; trustedProxies: readonly string[] },
  ) {
    this.#server = server;
    this.#baseUrl = baseUrl;
    this.#clients = clientAddresses(trustedProxies);
  }

  /** Returns a request whose URL is complete. That of an HTTP/1.0 request without a host is only a path. */
  withFullUrl(incoming: Request): Request {
    if (!incoming.url.startsWith("/")) return incoming;
    const request = new Request(this.#baseUrl + incoming.url, incoming);
    this.#originalOf.set(request, incoming);
    return request;
  }

  /** The client's address, behind trusted proxies too; null if the connection is gone. */
  addressOf(request: Request): string | null {
    return this.#clients.addressOf(this.#peerOf(request), request.headers);
  }

  /** Whether a trusted proxy received the request over TLS. */
  cameOverTls(request: Request): boolean {
    return this.#clients.cameOverTls(this.#peerOf(request), request.headers);
  }

  /** Closes a request's connection after this many idle seconds. 0 disables the timeout. */
  setTimeout(request: Request, seconds: number): void {
    this.#server.timeout(this.#originalOf.get(request) ?? request, seconds);
  }

  #peerOf(request: Request): string | null {
    return this.#server.requestIP(this.#originalOf.get(request) ?? request)?.address ?? null;
  }
}
