import { settings } from "../config/settings.ts";

/** An address to listen on, and what the settings with its parts are called. */
type ListenAddress = { host: string; port: number; hostSetting: string; portSetting: string };

/** Below it, only root may listen, or who was allowed to. */
const privilegedPorts = 1_024;

/** Starts listening. If the system refuses, throws a sentence with the setting to change. */
export function listen<Server>(address: ListenAddress, start: () => Server): Server {
  try {
    return start();
  } catch (error) {
    const why = sentenceOf(error as { code?: string; syscall?: string }, address);
    throw why === null ? error : new Error(why, { cause: error });
  }
}

/** The address of HOST and PORT. */
export function mainAddress({ host, port }: { host: string; port: number }): ListenAddress {
  return { host, port, hostSetting: settings.host.variable, portSetting: settings.port.variable };
}

function sentenceOf(
  { code, syscall }: { code?: string; syscall?: string },
  { host, port, hostSetting, portSetting }: ListenAddress,
): string | null {
  if (code === "EADDRINUSE")
    return `port ${port} on ${host} is in use by another process, perhaps by another Tidings. Stop that process, or set ${portSetting} to a free port.`;
  if (code === "EACCES" && port > 0 && port < privilegedPorts)
    return `this user may not listen on port ${port}. Set ${portSetting} to a port of at least ${privilegedPorts} and put a proxy in front, or allow it (AmbientCapabilities=CAP_NET_BIND_SERVICE in systemd).`;
  // Bun has no code of its own for a wrong host: it reports whatever error the system had last.
  if (syscall === "listen" || syscall === "getaddrinfo")
    return `${hostSetting} is ${JSON.stringify(host)}, which is not an address of this machine. Set it to 0.0.0.0 for all addresses, 127.0.0.1 for this machine alone, or one of its addresses, without a port.`;
  return null;
}
