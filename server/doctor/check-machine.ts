import {
  accessSync,
  chmodSync,
  closeSync,
  constants,
  fsyncSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { connect } from "node:tls";
import { createTransport } from "nodemailer";
import type { Config } from "../config/config.ts";
import { freeBytes, isDiskLow } from "../storage/disk.ts";
import { giveToOwner } from "../storage/private-file.ts";
import { boxFor, readKeyFile, secretKeyFile } from "../storage/secret-key.ts";
import { type Finding, ok, problemFound, warning } from "./finding.ts";

const gigabyte = 1e9;
/** An fsync that takes longer, in milliseconds, makes each commit wait as long. */
const slowFsyncMs = 20;
const fsyncs = 20;
/** A clock may differ from another machine's by this much. */
const clockMs = 5_000;
const timeoutMs = 5_000;
const expiryDays = 14;
const dayMs = 86_400_000;
/** Where browsers' push services are: Chrome, Firefox, Safari. */
const pushHosts = ["fcm.googleapis.com", "updates.push.services.mozilla.com", "web.push.apple.com"];

/** The free space of the data directory's disk, and the time of an fsync there. */
export function checkDisk(config: Config): Finding[] {
  const free = freeBytes(config.dataDirectory);
  const gigabytes = `${(free / gigabyte).toFixed(1)} GB are free.`;
  const space = isDiskLow(config.dataDirectory)
    ? warning(
        "disk space",
        gigabytes,
        "Free some space, or shorten how long events are kept (docs/retention.md).",
      )
    : ok("disk space", gigabytes);
  if (unwritable(config)) return [space];
  const ms = fsyncMs(config.dataDirectory);
  const speed = `An fsync takes ${ms.toFixed(1)} ms.`;
  return [
    space,
    ms > slowFsyncMs
      ? warning("disk speed", speed, "Each event waits for one. Use a local SSD for the data directory.")
      : ok("disk speed", speed),
  ];
}

/** The median time of an fsync. */
function fsyncMs(directory: string): number {
  const file = join(directory, `doctor-${process.pid}`);
  const handle = openSync(file, "w", 0o600);
  const times: number[] = [];
  try {
    for (let n = 0; n < fsyncs; n++) {
      writeSync(handle, Buffer.alloc(4_096));
      const startMs = performance.now();
      fsyncSync(handle);
      times.push(performance.now() - startMs);
    }
  } finally {
    closeSync(handle);
    rmSync(file);
  }
  return times.sort((a, b) => a - b)[fsyncs >> 1]!;
}

/** The files in the data directory that the server opens. */
function ownFiles(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => /^tidings\.|^secret\.key$/.test(name))
    .map((name) => join(directory, name));
}

/** Files that others may read or write. */
function openFiles(directory: string): string[] {
  return ownFiles(directory).filter(
    (file) => /tidings\.db|secret\.key/.test(file) && (statSync(file).mode & 0o077) !== 0,
  );
}

/** Files that the server can't open: root sees those of another owner than the directory's, others those it can't open. */
function lockedFiles(directory: string): string[] {
  if (process.getuid?.() === 0) {
    const { uid } = statSync(directory);
    return ownFiles(directory).filter((file) => statSync(file).uid !== uid);
  }
  return ownFiles(directory).filter((file) => !mayOpen(file));
}

function mayOpen(path: string): boolean {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Why the server can't start with a data directory, or null: a file system that is read-only, or another owner. */
export function unwritable({ dataDirectory }: Pick<Config, "dataDirectory">): Finding | null {
  try {
    accessSync(dataDirectory, constants.W_OK);
    return null;
  } catch (error) {
    const isReadOnly = (error as { code?: string }).code === "EROFS";
    return problemFound(
      "data directory",
      isReadOnly
        ? `${dataDirectory} is on a read-only file system.`
        : `${dataDirectory} can't be written by this user.`,
      isReadOnly
        ? "The server needs to write to it: mount it writable. What can be checked without that was checked."
        : "Run this as the server's user, or give the directory to this one (docs/production.md).",
    );
  }
}

export function checkRights({ dataDirectory }: Config): Finding[] {
  if (process.platform === "win32") return [ok("file rights", "Not checked on Windows.")];
  const isRoot = process.getuid?.() === 0;
  const [open, locked] = [openFiles(dataDirectory), lockedFiles(dataDirectory)];
  const findings: Finding[] = [];
  if (open.length > 0)
    findings.push(
      problemFound(
        "file rights",
        `Others can read ${open.join(", ")}.`,
        "Run: tidings doctor --fix",
        "rights",
      ),
    );
  if (locked.length > 0)
    findings.push(
      problemFound(
        "file rights",
        isRoot
          ? `The owner of ${dataDirectory} can't open ${locked.join(", ")}: another user owns them.`
          : `This user can't open ${locked.join(", ")}.`,
        isRoot
          ? "Run: tidings doctor --fix"
          : "If the server runs as this user, run as root: tidings doctor --fix. Otherwise run this as the server's user.",
        isRoot ? "rights" : null,
      ),
    );
  return findings.length > 0
    ? findings
    : [ok("file rights", "Only their owner, who has the directory too, can open the files.")];
}

/** @param config - root also gives the files to the directory's owner */
export function fixRights({ dataDirectory }: Config): void {
  for (const file of openFiles(dataDirectory)) chmodSync(file, 0o600);
  for (const file of ownFiles(dataDirectory)) giveToOwner(file);
}

/**
 * Whether the key for the secrets in the database is there and opens them, as a start would.
 *
 * @param check - what the database keeps to recognize its key; null if it has no secrets
 */
export function checkSecretKey(
  config: Pick<Config, "dataDirectory" | "secretKey">,
  check: string | null,
): Finding {
  const file = secretKeyFile(config.dataDirectory);
  const source = config.secretKey === null ? file : "TIDINGS_SECRET_KEY";
  try {
    if (check !== null) boxFor(config, check);
    else if (config.secretKey === null && readKeyFile(file) === null)
      return ok("secret key", "The first start of the server creates it.");
  } catch (error) {
    const { code, message } = error as Error & { code?: string };
    return problemFound(
      "secret key",
      code === undefined ? message : `${file} can't be read (${message}).`,
      "The server does not start with it. Put the right key in its place (docs/secrets.md).",
    );
  }
  const use = check === null ? "It can be read" : "It opens the database's secrets";
  return ok(
    "secret key",
    config.secretKey === null
      ? `${use}. It is ${file}: back it up, apart from the database.`
      : `${use}: ${source}.`,
  );
}

/** Whether the mail server accepts a connection and the sign-in. */
export async function checkMail({ smtpUrl }: Config): Promise<Finding> {
  if (smtpUrl === null) return ok("email", "Not configured.");
  const transport = createTransport({
    url: smtpUrl,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
  });
  try {
    await transport.verify();
    return ok("email", "The mail server accepts the sign-in.");
  } catch (error) {
    return problemFound(
      "email",
      `${(error as Error).message}.`,
      "Check SMTP_URL, and whether this machine may connect.",
    );
  } finally {
    transport.close();
  }
}

/** Whether the push services of browsers can be reached. */
export async function checkPush(): Promise<Finding> {
  const unreachable = (
    await Promise.all(pushHosts.map(async (host) => ((await reaches(host)) ? [] : [host])))
  ).flat();
  if (unreachable.length === 0) return ok("push", "The push services of browsers can be reached.");
  return warning(
    "push",
    `${unreachable.join(", ")} can't be reached.`,
    "Allow connections from this machine to these hosts on port 443, or browsers there get no notifications.",
  );
}

function reaches(host: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 443, servername: host, timeout: timeoutMs }, () => end(true));
    const end = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.on("error", () => end(false));
    socket.on("timeout", () => end(false));
  });
}

/** The public address, as a browser sees it: TLS, and that a Tidings answers. It also has a clock to compare with. */
export async function checkAddress({ url }: Config): Promise<Finding[]> {
  if (url === null)
    return [
      warning(
        "address",
        "TIDINGS_URL is not set.",
        "Set it to the address that people use: links in messages need it.",
      ),
    ];
  let response: Response;
  try {
    response = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(timeoutMs), redirect: "manual" });
  } catch (error) {
    const { message, code } = error as Error & { code?: string };
    return [
      problemFound(
        "address",
        `${url}/healthz: ${message}${code ? ` (${code})` : ""}.`,
        "Start the server, and check the proxy, its certificate, and DNS.",
      ),
    ];
  }
  const isOurs =
    response.status === 200 &&
    ((await response.json().catch(() => null)) as { ok?: unknown } | null)?.ok === true;
  const findings = [
    isOurs
      ? ok("address", `${url} answers.`)
      : problemFound(
          "address",
          `${url}/healthz answers ${response.status}, not as Tidings does.`,
          "Point the proxy at this server.",
        ),
  ];
  const date = Date.parse(response.headers.get("date") ?? "");
  if (Math.abs(date - Date.now()) > clockMs)
    findings.push(
      problemFound(
        "clock",
        `It differs from ${url}'s by ${Math.round(Math.abs(date - Date.now()) / 1_000)} seconds.`,
        "Synchronize the clock (NTP): it dates events.",
      ),
    );
  if (url.startsWith("https:")) findings.push(await checkCertificate(new URL(url)));
  return findings;
}

function checkCertificate({ hostname, port }: URL): Promise<Finding> {
  return new Promise((resolve) => {
    const socket = connect(
      { host: hostname, port: Number(port) || 443, servername: hostname, timeout: timeoutMs },
      () => {
        const days = Math.floor((Date.parse(socket.getPeerCertificate().valid_to) - Date.now()) / dayMs);
        socket.destroy();
        const detail = `The certificate is valid for ${days} more days.`;
        resolve(days < expiryDays ? warning("certificate", detail, "Renew it.") : ok("certificate", detail));
      },
    );
    socket.on("error", (error) =>
      resolve(problemFound("certificate", `${error.message}.`, "Check the certificate.")),
    );
  });
}

/** Whether the clock is behind what was recorded. */
export function checkClock(newestArrivalMs: number | null, nowMs: number): Finding {
  if (newestArrivalMs === null || newestArrivalMs <= nowMs + clockMs)
    return ok("clock", "It is not behind the newest event.");
  const seconds = Math.round((newestArrivalMs - nowMs) / 1_000);
  return warning(
    "clock",
    `The newest event arrived ${seconds} seconds in this machine's future.`,
    "Synchronize the clock (NTP). It was ahead once, or is behind now.",
  );
}
