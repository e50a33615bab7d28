import { existsSync } from "node:fs";

/** The programs that the drill runs, by Debian's package. */
const packages: Record<string, string[]> = {
  caddy: ["/usr/bin/caddy"],
  "etcd-server": ["/usr/bin/etcd"],
  haproxy: ["/usr/sbin/haproxy"],
  iproute2: ["/usr/sbin/ip"],
  nftables: ["/usr/sbin/nft"],
  patroni: ["/usr/bin/patroni"],
  "postgresql-15": ["/usr/lib/postgresql/15/bin/postgres"],
  "python3-etcd": ["/usr/lib/python3/dist-packages/etcd"],
  "python3-psycopg2": ["/usr/lib/python3/dist-packages/psycopg2"],
  "util-linux": ["/usr/bin/unshare", "/usr/bin/nsenter", "/usr/bin/setpriv"],
};

/** Why the drill can't run on this machine, and what to do about it. Null if it can. */
export function missingRequirement(exists: (path: string) => boolean = existsSync): string | null {
  const missing = Object.keys(packages).filter((name) => !packages[name]!.every(exists));
  if (missing.length === 0) return null;
  return `The drill needs programs that are not installed. On Debian 12, as root:\n\n  apt-get install --no-install-recommends ${missing.join(" ")}\n`;
}
