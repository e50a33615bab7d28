/** Longer than any end that a test waits for. */
const tailCharacters = 64;

/** Sends raw bytes on a new connection and collects the response, for requests that `fetch` would not send. */
export async function rawRequest(address: string, ...parts: (string | Uint8Array)[]) {
  const { hostname, port } = new URL(address);
  let text = "";
  /** The end of the text, to be looked at without making one string of all parts each time. */
  let tail = "";
  let isAnswered = false;
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
        const added = bytes.toString("latin1");
        text += added;
        tail = (tail + added).slice(-tailCharacters);
        isAnswered ||= text.includes("\r\n\r\n");
        if (isAnswered) answered.resolve();
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
    /** Whether what has arrived ends so. */
    endsWith(end: string): boolean {
      return tail.endsWith(end);
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
