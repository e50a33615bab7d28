import type { Kysely } from "kysely";
import { problem } from "../core/problems.ts";
import { readSignedText, signText } from "../core/signed-text.ts";
import type { ControlTables } from "../storage/control-tables.ts";
import { cancelDeliveries } from "./destinations.ts";

/** Whom a link in an email is for, and the report that it ends; without one, all of the project's email. */
type Subscriber = { accountId: string; projectId: number; report?: string };

const purpose = "unsubscribe";

/**
 * Signs the links that end a project's email to an account, or one report (RFC 8058). They need no session, never
 * expire, and allow nothing else.
 */
export class UnsubscribeLinks {
  readonly #secret: string;
  readonly #baseUrl: string;

  constructor(secret: string, baseUrl: string) {
    this.#secret = secret;
    this.#baseUrl = baseUrl;
  }

  url(subscriber: Subscriber): string {
    const { accountId, projectId, report } = subscriber;
    const text = [projectId, accountId, ...(report === undefined ? [] : [report])].join(".");
    return `${this.#baseUrl}/unsubscribe/${signText(this.#secret, purpose, text)}`;
  }

  /** Whom a link's token is for. Throws `unsubscribe-link-unknown`. */
  read(token: string): Subscriber {
    const text = readSignedText(this.#secret, purpose, token);
    if (text === null) throw unknownLink();
    const [projectId, accountId = "", report] = text.split(".");
    return { projectId: Number(projectId), accountId, ...(report !== undefined && { report }) };
  }
}

/**
 * Returns the project whose email a link ends, with the board of a report, and the address. Throws
 * `unsubscribe-link-unknown` if the account is no longer a member of the project.
 */
export async function previewUnsubscribe(
  control: Kysely<ControlTables>,
  { accountId, projectId, report }: Subscriber,
): Promise<{ project: string; email: string; unsubscribed: boolean; report: string | null }> {
  const row = await control
    .selectFrom("members")
    .innerJoin("projects", "projects.id", "members.projectId")
    .innerJoin("accounts", "accounts.id", "members.accountId")
    .leftJoin("emailUnsubscriptions", (join) =>
      join
        .onRef("emailUnsubscriptions.projectId", "=", "members.projectId")
        .onRef("emailUnsubscriptions.accountId", "=", "members.accountId"),
    )
    .select(["projects.name as project", "accounts.email", "emailUnsubscriptions.createdAt as since"])
    .where("members.projectId", "=", projectId)
    .where("members.accountId", "=", accountId)
    .executeTakeFirst();
  if (!row) throw unknownLink();
  const { project, email, since } = row;
  if (report === undefined) return { project, email, unsubscribed: since !== null, report: null };
  const ofReport = await control
    .selectFrom("reports")
    .innerJoin("boards", "boards.id", "reports.boardId")
    .select(["boards.name", "enabled"])
    .where("reports.id", "=", report)
    .where("reports.accountId", "=", accountId)
    .executeTakeFirst();
  if (!ofReport) throw unknownLink();
  return { project, email, unsubscribed: ofReport.enabled === 0, report: ofReport.name };
}

/**
 * Ends a project's email to an account, or turns off a report, and cancels what waits. Can be repeated. Throws
 * `unsubscribe-link-unknown`.
 */
export async function unsubscribe(
  control: Kysely<ControlTables>,
  subscriber: Subscriber,
  nowMs: number,
): Promise<void> {
  await previewUnsubscribe(control, subscriber);
  const { accountId, projectId, report } = subscriber;
  if (report !== undefined) {
    await control
      .updateTable("reports")
      .set({ enabled: 0, dueAt: null })
      .where("id", "=", report)
      .where("accountId", "=", accountId)
      .execute();
    return;
  }
  await control
    .insertInto("emailUnsubscriptions")
    .values({ accountId, projectId, createdAt: nowMs })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const email = await control
    .selectFrom("destinations")
    .select("id")
    .where("accountId", "=", accountId)
    .where("kind", "=", "email")
    .executeTakeFirst();
  if (email)
    await cancelDeliveries(control, email.id, "The account unsubscribed before this was sent.", projectId);
}

/** Resumes a project's email to an account. */
export async function resubscribe(
  control: Kysely<ControlTables>,
  { accountId, projectId }: Subscriber,
): Promise<void> {
  await control
    .deleteFrom("emailUnsubscriptions")
    .where("accountId", "=", accountId)
    .where("projectId", "=", projectId)
    .execute();
}

function unknownLink() {
  return problem("unsubscribe-link-unknown", {
    detail: "This link is not valid, or you are no longer a member of the project. Check the whole address.",
  });
}
