/**
 * Tells systemd about the service's state: sd_notify(3). The protocol is one datagram to the socket that
 * `NOTIFY_SOCKET` names. Bun has no Unix datagram sockets, so it calls the C library.
 */
import { dlopen, ptr } from "bun:ffi";

const unixFamily = 1;
const datagram = 2;

/** Sends a state such as `READY=1`. Does nothing if systemd didn't start the process. */
export function notifySystemd(state: string, socketPath = process.env.NOTIFY_SOCKET): void {
  if (!socketPath || process.platform !== "linux") return;
  const { symbols, close } = dlopen("libc.so.6", {
    socket: { args: ["i32", "i32", "i32"], returns: "i32" },
    sendto: { args: ["i32", "ptr", "u64", "i32", "ptr", "u32"], returns: "i64" },
    close: { args: ["i32"], returns: "i32" },
  });
  const handle = symbols.socket(unixFamily, datagram, 0);
  const message = Buffer.from(state);
  const address = socketAddress(socketPath);
  symbols.sendto(handle, ptr(message), message.length, 0, ptr(address), address.length);
  symbols.close(handle);
  close();
}

/** `sockaddr_un` (unix(7)): the family and the path. An abstract name begins with "@" and has no end. */
export function socketAddress(path: string): Uint8Array {
  const name = Buffer.from(path.startsWith("@") ? `\0${path.slice(1)}` : `${path}\0`);
  return Buffer.concat([Buffer.from(new Uint16Array([unixFamily]).buffer), name]);
}

/**
 * Tells systemd that the service is alive, twice as often as `WATCHDOG_USEC` requires. If the event loop stands still,
 * it can't, and systemd restarts the service. An outage of the storage doesn't count: a restart would not end it.
 */
export function startWatchdog(periodUs = Number(process.env.WATCHDOG_USEC)): void {
  if (periodUs > 0) setInterval(() => notifySystemd("WATCHDOG=1"), periodUs / 2_000).unref();
}
