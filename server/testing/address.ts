import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Forwards a TCP port to a server and can switch to another, like a floating IP or a load balancer. */
export async function startForwarder(toPort: number) {
  /** Null while the machine behind it is unreachable and its connections are silent. */
  let port: number | null = toPort;
  const clients = new Set<Socket>();
  const servers = new Set<Socket>();

  const listener = createServer((client) => {
    clients.add(client);
    client.on("error", () => {});
    client.on("close", () => clients.delete(client));
    if (port === null) return;
    const server = connect(port, "127.0.0.1");
    servers.add(server);
    // Pass on that the server closed the connection, unless it has gone silent.
    const isReachable = () => servers.has(server);
    server.on("error", () => isReachable() && client.destroy());
    server.on("close", () => {
      if (isReachable()) client.destroy();
      servers.delete(server);
    });
    client.on("close", () => server.destroy());
    client.on("data", (bytes) => server.write(bytes));
    server.on("data", (bytes) => isReachable() && client.write(bytes));
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));

  return {
    port: (listener.address() as AddressInfo).port,
    /** From now on the server is unreachable, without any connection being closed. */
    goSilent(): void {
      port = null;
      const silent = [...servers];
      servers.clear();
      for (const server of silent) server.destroy();
    },
    /** Switches to another server, which knows nothing of the previous connections. */
    forwardTo(toPort: number): void {
      port = toPort;
      for (const client of clients) client.resetAndDestroy();
    },
    close(): void {
      listener.close();
      for (const socket of [...clients, ...servers]) socket.destroy();
    },
  };
}
