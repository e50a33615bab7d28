/**
 * A proxy between Tidings and ClickHouse, for failures that a test's ClickHouse can't have by itself.
 *
 * @param origin - of the server
 */
export function clickHouseProxy(origin: () => string) {
  const proxy = {
    /** Answers a statement instead of the server; undefined lets it pass. The empty statement is a ping. */
    answer: (_statement: string): Response | undefined | Promise<Response | undefined> => undefined,
    /** The address of a database through the proxy. */
    url: (address: string) => `http://default@127.0.0.1:${server.port}${new URL(address).pathname}`,
    [Symbol.dispose]: () => void server.stop(true),
  };
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    // A statement that hangs has no answer.
    idleTimeout: 0,
    async fetch(request) {
      const { pathname, search, searchParams } = new URL(request.url);
      const body = await request.text();
      const answer = await proxy.answer(searchParams.get("query") ?? body);
      if (answer) return answer;
      try {
        return await fetch(`${origin()}${pathname}${search}`, { method: request.method, body: body || null });
      } catch {
        return new Response(null, { status: 502 });
      }
    },
  });
  return proxy;
}

/** What ClickHouse answers to a wrong password (https://clickhouse.com/docs/interfaces/http). */
export const wrongPassword = () =>
  new Response(
    "Code: 516. DB::Exception: default: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)\n",
    { status: 403, headers: { "x-clickhouse-exception-code": "516" } },
  );

/** An answer that never comes. */
export const noAnswer = () => new Promise<Response>(() => {});
