import { createHmac, timingSafeEqual } from "node:crypto";
import type { Kysely } from "kysely";
import { roleMay } from "../core/permissions.ts";
import { problem } from "../core/problems.ts";
import { readSignedText, signText } from "../core/signed-text.ts";
import type { Actor } from "../http/caller.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { type AlertRow, findAlert } from "./alerts.ts";

/** Whom a link was sent to: an account, or a destination of the project. */
export type AlertLink = { alertId: string; accountId: string | null; destinationId: string };

const purpose = "alert";
const idBytes = 16;
/** Of an HMAC-SHA256, so that a token fits where services allow few characters. */
const macBytes = 15;

/** Signs the links in messages of alerts, which acknowledge and resolve them without a session. */
export class AlertLinks {
  readonly #secret: string;
  readonly #baseUrl: string;

  constructor(secret: string, baseUrl: string) {
    this.#secret = secret;
    this.#baseUrl = baseUrl;
  }

  url({ alertId, accountId, destinationId }: AlertLink): string {
    const text = `${alertId}.${accountId ?? ""}.${destinationId}`;
    return `${this.#baseUrl}/alert/${signText(this.#secret, purpose, text)}`;
  }

  /** What a link's token is for. Throws `alert-link-unknown`. */
  read(token: string): AlertLink {
    const text = readSignedText(this.#secret, purpose, token);
    if (text === null) throw unknownLink();
    const [alertId, accountId, destinationId] = text.split(".");
    return { alertId: alertId!, accountId: accountId || null, destinationId: destinationId! };
  }

  /**
   * The token of the buttons in a message to a destination: 63 characters. A button's value can have 64 bytes in
   * Telegram, and 100 in Discord.
   */
  buttonToken({ alertId, destinationId }: Omit<AlertLink, "accountId">): string {
    const ids = Buffer.from(`${alertId}${destinationId}`.replaceAll("-", ""), "hex");
    return Buffer.concat([ids, this.#macOf(ids)]).toString("base64url");
  }

  /** The link that the token of a button stands for. Throws `alert-link-unknown`. */
  readButton(token: string): AlertLink {
    const bytes = Buffer.from(token, "base64url");
    const ids = bytes.subarray(0, 2 * idBytes);
    const mac = bytes.subarray(2 * idBytes);
    if (mac.length !== macBytes || !timingSafeEqual(mac, this.#macOf(ids))) throw unknownLink();
    return {
      alertId: uuidOf(ids.subarray(0, idBytes)),
      accountId: null,
      destinationId: uuidOf(ids.subarray(idBytes)),
    };
  }

  #macOf(ids: Uint8Array): Buffer {
    const mac = createHmac("sha256", this.#secret).update("alert button ").update(ids).digest();
    return mac.subarray(0, macBytes);
  }
}

function uuidOf(bytes: Buffer): string {
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
}

/** A link's alert, and whose link it is. */
export type OpenedLink = {
  alert: AlertRow;
  project: { name: string; slug: string };
  actor: Pick<Actor, "kind" | "id"> & { name: string };
};

/**
 * Opens a link. Throws `alert-link-unknown` once its recipient has left the project or may not change alerts, or the
 * destination was deleted or turned off.
 */
export async function openAlertLink(control: Kysely<ControlTables>, link: AlertLink): Promise<OpenedLink> {
  const project = await control
    .selectFrom("alerts")
    .innerJoin("projects", "projects.id", "alerts.projectId")
    .select(["projects.id", "projects.name", "projects.slug"])
    .where("alerts.id", "=", link.alertId)
    .executeTakeFirst();
  const actor = project && (await actorOf(control, project.id, link));
  if (!actor) throw unknownLink();
  const { id, name, slug } = project;
  return { alert: await findAlert(control, id, link.alertId), project: { name, slug }, actor };
}

async function actorOf(
  control: Kysely<ControlTables>,
  projectId: number,
  { accountId, destinationId }: AlertLink,
): Promise<OpenedLink["actor"] | null> {
  if (accountId === null) {
    const destination = await control
      .selectFrom("destinations")
      .select("name")
      .where("id", "=", destinationId)
      .where("projectId", "=", projectId)
      .where("enabled", "=", 1)
      .executeTakeFirst();
    return destination ? { kind: "nobody", id: null, name: destination.name } : null;
  }
  const member = await control
    .selectFrom("members")
    .innerJoin("accounts", "accounts.id", "members.accountId")
    .select(["members.role", "accounts.email"])
    .where("members.projectId", "=", projectId)
    .where("members.accountId", "=", accountId)
    .executeTakeFirst();
  if (!member || !roleMay(member.role, "alerts:change")) return null;
  return { kind: "account", id: accountId, name: member.email };
}

function unknownLink() {
  return problem("alert-link-unknown", {
    detail:
      "This link is not valid any more: its recipient has left the project, or the destination is turned off. Sign in to the dashboard to see the alert.",
  });
}
