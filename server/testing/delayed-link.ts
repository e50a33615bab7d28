import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export type DelayedLink = { port: number; close: () => void };

/** Forwards TCP connections to a server. Each byte arrives later, in both directions. */
export async function startDelayedLink(
  to: { host: string; port: number },
  listenAddress: string,
  delayMs: number,
): Promise<DelayedLink> {
  const sockets = new Set<Socket>();
  const listener = createServer((client) => {
    const server = connect(to);
    for (const [socket, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => {});
      // Timers of the same duration fire in the order in which they were started.
      socket.on("data", (bytes) => setTimeout(() => other.write(bytes), delayMs));
      socket.on("end", () => setTimeout(() => other.end(), delayMs));
      socket.on("close", () => {
        sockets.delete(socket);
        setTimeout(() => other.destroy(), delayMs);
      });
    }
  });
  await new Promise<void>((resolve) => listener.listen(0, listenAddress, resolve));
  return {
    port: (listener.address() as AddressInfo).port,
    close() {
      listener.close();
      for (const socket of sockets) socket.resetAndDestroy();
    },
  };
}
