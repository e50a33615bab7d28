/** Sends raw bytes on a new connection and collects the response, for requests that `fetch` would not send. */
export async function rawRequest(address: string, ...parts: (string | Uint8Array)[]) {
  const { hostname, port } = new URL(address);
  let text = "";
  let isClosed = false;
  const ended = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const unsent = parts.map((part) => Buffer.from(part));
  const send = (socket: Bun.Socket) => {
    for (let part = unsent[0]; part; part = unsent[0]) {
      const written = socket.write(part);
      if (written < part.length) {
        unsent[0] = part.subarray(Math.max(written, 0));
        return;
      }
      unsent.shift();
    }
  };
  const socket = await Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: send,
      drain: send,
      data(_, bytes) {
        text += bytes.toString("latin1");
        if (text.includes("\r\n\r\n")) answered.resolve();
      },
      close: () => {
        isClosed = true;
        ended.resolve();
        answered.resolve();
      },
      error: () => ended.resolve(),
    },
  });
  return {
    /** What has arrived so far. */
    get text() {
      return text;
    },
    /** The response's status, or null if the connection ended without one. */
    async status(): Promise<number | null> {
      await answered.promise;
      return Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1]) || null;
    },
    /** Resolves when the server has closed the connection. */
    closed: ended.promise,
    get isClosed() {
      return isClosed;
    },
    send(part: string): void {
      unsent.push(Buffer.from(part));
      if (unsent.length === 1) send(socket);
    },
    /** Stops reading until `resume`, so that the kernel's buffers fill, and then the server's. */
    pause: () => void socket.pause(),
    resume: () => void socket.resume(),
    [Symbol.dispose]: () => void socket.end(),
  };
}
