import { createConnection, createServer, type Socket } from "node:net";

/**
 * Stands between browsers and a server, and counts what goes by: all requests, also those of workers, and every byte that the server
 * sends, with headers.
 */
export async function countingProxy(address: string) {
  const { port } = new URL(address);
  let requests: string[] = [];
  let bytes = 0;
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = createConnection(Number(port), "127.0.0.1");
    for (const socket of [client, server]) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => {
        client.destroy();
        server.destroy();
      });
    }
    // Browsers send a request only after the answer to the one before, so each begins a piece of its own.
    client.on("data", (piece) => {
      const line = /^([A-Z]+ \S+) HTTP\/1\.1\r\n/.exec(piece.toString("latin1"));
      if (line) requests.push(line[1]!);
    });
    server.on("data", (piece) => {
      bytes += piece.length;
    });
    client.pipe(server);
    server.pipe(client);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  proxy.listen(0, "127.0.0.1", resolve);
  await promise;
  return {
    port: (proxy.address() as { port: number }).port,
    /** What was counted since the last call. */
    take() {
      const counted = { requests, bytes };
      requests = [];
      bytes = 0;
      return counted;
    },
    close() {
      for (const socket of sockets) socket.destroy();
      proxy.close();
    },
  };
}
