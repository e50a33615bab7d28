import {
  chmodSync,
  closeSync,
  existsSync,
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
import type { Config } from "../config.ts";
import { freeBytes, isDiskLow } from "../storage/disk.ts";
import { secretKeyFile } from "../storage/secret-key.ts";
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
  const free = freeBytes(config);
  const gigabytes = `${(free / gigabyte).toFixed(1)} GB are free.`;
  const space = isDiskLow(config)
    ? warning(
        "disk space",
        gigabytes,
        "Free some space, or shorten how long events are kept (docs/retention.md).",
      )
    : ok("disk space", gigabytes);
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

/** Files that others may read or write. */
function openFiles(directory: string): string[] {
  return readdirSync(directory)
    .filter((name) => /^tidings\.db|^secret\.key$/.test(name))
    .map((name) => join(directory, name))
    .filter((file) => (statSync(file).mode & 0o077) !== 0);
}

export function checkRights({ dataDirectory }: Config): Finding {
  if (process.platform === "win32") return ok("file rights", "Not checked on Windows.");
  const files = openFiles(dataDirectory);
  if (files.length === 0) return ok("file rights", "Only their owner can read the files.");
  return problemFound(
    "file rights",
    `Others can read ${files.join(", ")}.`,
    "Run: tidings doctor --fix",
    "rights",
  );
}

export function fixRights({ dataDirectory }: Config): void {
  for (const file of openFiles(dataDirectory)) chmodSync(file, 0o600);
}

/** Whether the key for the secrets in the database is there. @param isNeeded - the database has secrets */
export function checkSecretKey({ dataDirectory, secretKey }: Config, isNeeded: boolean): Finding {
  const file = secretKeyFile(dataDirectory);
  if (secretKey !== null) return ok("secret key", "TIDINGS_SECRET_KEY is set.");
  if (existsSync(file)) return ok("secret key", `It is ${file}. Back it up, apart from the database.`);
  if (!isNeeded) return ok("secret key", "The first start of the server creates it.");
  return problemFound(
    "secret key",
    `${file} is missing.`,
    "Put it back, or set TIDINGS_SECRET_KEY (docs/secrets.md).",
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
