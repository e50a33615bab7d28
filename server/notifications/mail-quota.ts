import { sql, type Transaction } from "kysely";
import { limits } from "../core/limits.ts";
import type { ControlTables } from "../storage/control-tables.ts";

const hourMs = 3_600_000;

type Recipient = { projectId: number; accountId: string };

/**
 * How many notifications may still be sent by email one by one: to each account, and by each project, in an hour of the
 * clock. What is beyond that comes in a digest.
 */
export class MailQuota {
  readonly #hour: number;
  readonly #stored: ReadonlyMap<string, number>;
  readonly #taken = new Map<string, number>();

  private constructor(hour: number, stored: ReadonlyMap<string, number>) {
    this.#hour = hour;
    this.#stored = stored;
  }

  /** Reads what was sent in this hour. Whoever makes deliveries holds their lock, so nobody else counts meanwhile. */
  static async read(
    transaction: Transaction<ControlTables>,
    recipients: readonly Recipient[],
    nowMs: number,
  ): Promise<MailQuota> {
    const hour = Math.floor(nowMs / hourMs);
    const subjects = new Set(recipients.flatMap(subjectsOf));
    if (subjects.size === 0) return new MailQuota(hour, new Map());
    const rows = await transaction
      .selectFrom("mailCounts")
      .select(["subject", "mails"])
      .where("hour", "=", hour)
      .where("subject", "in", [...subjects])
      .execute();
    return new MailQuota(hour, new Map(rows.map(({ subject, mails }) => [subject, mails])));
  }

  /** Takes one mail from the quotas of an account and a project. False if either is used up. */
  take(recipient: Recipient): boolean {
    const [account, project] = subjectsOf(recipient);
    if (this.#sent(account) >= limits.emailsPerAccountPerHour) return false;
    if (this.#sent(project) >= limits.emailsPerProjectPerHour) return false;
    for (const subject of [account, project]) this.#taken.set(subject, (this.#taken.get(subject) ?? 0) + 1);
    return true;
  }

  async save(transaction: Transaction<ControlTables>): Promise<void> {
    if (this.#taken.size === 0) return;
    await transaction.deleteFrom("mailCounts").where("hour", "<", this.#hour).execute();
    await transaction
      .insertInto("mailCounts")
      .values([...this.#taken].map(([subject, mails]) => ({ subject, hour: this.#hour, mails })))
      .onConflict((conflict) =>
        conflict.columns(["subject", "hour"]).doUpdateSet({ mails: sql`mail_counts.mails + excluded.mails` }),
      )
      .execute();
  }

  #sent(subject: string): number {
    return (this.#stored.get(subject) ?? 0) + (this.#taken.get(subject) ?? 0);
  }
}

function subjectsOf({ projectId, accountId }: Recipient): [account: string, project: string] {
  return [`account ${accountId}`, `project ${projectId}`];
}
