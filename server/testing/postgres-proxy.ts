import { connect, createServer, type Socket } from "node:net";

/** A way to a database that hears every statement, and can be cut. */
export type PostgresProxy = {
  /** Connects to the database through it. */
  url: string;
  /** The statements that went through it, oldest first. */
  statements: string[];
  /** Cuts every connection, and lets none through until `mend`. */
  cut: () => void;
  mend: () => void;
  /** Told of each statement before the database is. */
  onStatement: (statement: string) => void;
  [Symbol.dispose]: () => void;
};

/** Starts a proxy before the database that a URL names. */
export async function postgresProxy(databaseUrl: string): Promise<PostgresProxy> {
  const url = new URL(databaseUrl);
  const [host, port] = [url.hostname, Number(url.port)];
  const sockets = new Set<Socket>();
  let isCut = false;

  const server = createServer((client) => {
    if (isCut) return void client.destroy();
    const database = connect(port, host);
    const hear = messageReader((statement) => {
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
        if (from === client) hear(bytes);
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
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend() {
      isCut = false;
    },
    [Symbol.dispose]() {
      this.cut();
      server.close();
    },
  };
  return proxy;
}

/**
 * Finds the statements in what a client sends: messages "Parse" and "Query"
 * (https://www.postgresql.org/docs/current/protocol-message-formats.html).
 */
function messageReader(onStatement: (statement: string) => void): (bytes: Buffer) => void {
  let rest = Buffer.alloc(0);
  let isStarted = false;
  return (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      // The first message has no letter.
      const head = isStarted ? 1 : 0;
      if (rest.length < head + 4) return;
      const end = head + rest.readInt32BE(head);
      if (rest.length < end) return;
      const letter = isStarted ? String.fromCharCode(rest[0]!) : "";
      const texts = rest
        .subarray(head + 4, end)
        .toString()
        .split("\0");
      if (letter === "P") onStatement(texts[1]!);
      if (letter === "Q") onStatement(texts[0]!);
      isStarted = true;
      rest = rest.subarray(end);
    }
  };
}
