import { createConnection, createServer, type Socket } from "node:net";

/**
 * A proxy between browsers and a server that counts all requests, including those of workers, and all bytes that the
 * server sends, including headers.
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
    // Browsers send a request only after the previous response, so each request starts a new chunk.
    client.on("data", (chunk) => {
      const line = /^([A-Z]+ \S+) HTTP\/1\.1\r\n/.exec(chunk.toString("latin1"));
      if (line) requests.push(line[1]!);
    });
    server.on("data", (chunk) => {
      bytes += chunk.length;
    });
    client.pipe(server);
    server.pipe(client);
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  proxy.listen(0, "127.0.0.1", resolve);
  await promise;
  return {
    port: (proxy.address() as { port: number }).port,
    /** Returns what was counted since the last call. */
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
