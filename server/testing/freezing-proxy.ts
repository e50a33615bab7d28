import { createConnection, createServer, type Socket } from "node:net";

/** A proxy before a server, whose connections can break, or fall silent as when a cable is pulled. */
export async function freezingProxy(address: string) {
  const { port } = new URL(address);
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = createConnection(Number(port), "127.0.0.1");
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => other.destroy());
      socket.pipe(other);
    }
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  proxy.listen(0, "127.0.0.1", resolve);
  await promise;
  const destroy = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${(proxy.address() as { port: number }).port}`,
    /** Nothing passes any more on the connections that there are. New ones work. */
    freeze() {
      for (const socket of sockets) socket.unpipe().pause();
    },
    /** Breaks the connections that there are. */
    destroy,
    [Symbol.dispose]() {
      destroy();
      proxy.close();
    },
  };
}
