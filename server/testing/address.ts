import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** Opens a TCP address that leads to a server, and can be made to lead to another: a floating IP, or a load balancer. */
export async function startAddress(toPort: number) {
  /** Null where the machine behind it is gone, without a word to those that are connected. */
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
    // As the server's own end would be seen, unless it is gone without a word.
    const isHeard = () => servers.has(server);
    server.on("error", () => isHeard() && client.destroy());
    server.on("close", () => {
      if (isHeard()) client.destroy();
      servers.delete(server);
    });
    client.on("close", () => server.destroy());
    client.on("data", (bytes) => server.write(bytes));
    server.on("data", (bytes) => isHeard() && client.write(bytes));
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));

  return {
    port: (listener.address() as AddressInfo).port,
    /** From now on nobody is answered, and nobody is told so. */
    goSilent(): void {
      port = null;
      const gone = [...servers];
      servers.clear();
      for (const server of gone) server.destroy();
    },
    /** Leads to another server, which knows nothing of the connections to the one before. */
    leadTo(toPort: number): void {
      port = toPort;
      for (const client of clients) client.resetAndDestroy();
    },
    close(): void {
      listener.close();
      for (const socket of [...clients, ...servers]) socket.destroy();
    },
  };
}
