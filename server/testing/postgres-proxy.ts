import { connect, createServer, type Socket } from "node:net";

/** A proxy in front of a database that records every statement and can cut connections. */
export type PostgresProxy = {
  /** The connection string of the database through the proxy. */
  url: string;
  /** The statements sent through the proxy, oldest first. */
  statements: string[];
  /** Cuts all connections and rejects new ones until `reconnect`. */
  disconnect: () => void;
  reconnect: () => void;
  /** Called with each statement before it is forwarded. */
  onStatement: (statement: string) => void;
  [Symbol.dispose]: () => void;
};

/** Starts a proxy in front of the database at a URL. */
export async function postgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const url = new URL(databaseUrl);
  const [host, port] = [url.hostname, Number(url.port)];
  const sockets = new Set<Socket>();
  let isDisconnected = false;

  const server = createServer((client) => {
    if (isDisconnected) return void client.destroy();
    const database = connect(port, host);
    const parse = createStatementParser((statement) => {
      proxy.statements.push(statement);
      proxy.onStatement(statement);
    });
    for (const [from, to] of [
      [client, database],
      [database, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => to.destroy());
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      from.on("data", (bytes: Buffer) => {
        if (from === client) parse(bytes);
        to.write(bytes);
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url.port = String((server.address() as { port: number }).port);

  const proxy: PostgresProxy = {
    url: url.href,
    statements: [],
    onStatement() {},
    disconnect() {
      isDisconnected = true;
      for (const socket of sockets) socket.destroy();
    },
    reconnect() {
      isDisconnected = false;
    },
    [Symbol.dispose]() {
      this.disconnect();
      server.close();
    },
  };
  return proxy;
}

/**
 * Finds the statements in what a client sends, in "Parse" and "Query" messages
 * (https://www.postgresql.org/docs/current/protocol-message-formats.html).
 */
function createStatementParser(onStatement: (statement: string) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isStarted = false;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      // The first message has no type byte.
      const head = isStarted ? 1 : 0;
      if (rest.length < head + 4) return;
      const end = head + rest.readInt32BE(head);
      if (rest.length < end) return;
      const type = isStarted ? String.fromCharCode(rest[0]!) : "";
      const strings = rest
        .subarray(head + 4, end)
        .toString()
        .split("\0");
      if (type === "P") onStatement(strings[1]!);
      if (type === "Q") onStatement(strings[0]!);
      isStarted = true;
      rest = rest.subarray(end);
    }
  };
}
