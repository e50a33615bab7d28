import type { JobContext } from "../background/job-context.ts";
import { addOtherIds, addToReceipt, changeJob, type JobRow } from "../background/jobs.ts";
import { idsOf } from "../storage/people.ts";
import { deleteEntries } from "./activity-entries.ts";
import { eraseFromCohorts } from "./erase-from-cohorts.ts";
import { addToJoined, beginPeopleChange } from "./people-lock.ts";

/** The IDs of the person to erase. The job keeps them, because what joins them is erased before all is done. */
export async function noteIds(
  { store: { control } }: JobContext,
  job: JobRow,
  subject: string,
): Promise<string[]> {
  return control.transaction().execute(async (transaction) => {
    return addOtherIds(transaction, job.id, await idsOf(transaction, job.projectId!, subject));
  });
}

/** Forgets who a person is, unless an ID was joined to them meanwhile. Returns whether it did. */
export async function forgetPerson(
  { store: { control } }: JobContext,
  { id, projectId }: JobRow,
  ids: string[],
): Promise<boolean> {
  return control.transaction().execute(async (transaction) => {
    const { version } = await beginPeopleChange(transaction, projectId!);
    const joined = await transaction
      .selectFrom("personIds")
      .select(["userId", "personId"])
      .where("projectId", "=", projectId!)
      .where((eb) => eb.or([eb("userId", "in", ids), eb("personId", "in", ids)]))
      .execute();
    if (joined.some((row) => !ids.includes(row.userId) || !ids.includes(row.personId))) return false;
    await transaction
      .deleteFrom("personIds")
      .where("projectId", "=", projectId!)
      .where("userId", "in", ids)
      .execute();
    await transaction
      .updateTable("peopleVersions")
      .set({ removedVersion: version })
      .where("projectId", "=", projectId!)
      .execute();
    await addToJoined(transaction, projectId!, -joined.filter((row) => row.userId !== row.personId).length);
    const { numDeletedRows } = await transaction
      .deleteFrom("users")
      .where("projectId", "=", projectId!)
      .where("userId", "in", ids)
      .executeTakeFirst();
    await deleteEntries(transaction, projectId!, ids);
    // With all else that makes them a member: before that, a cohort that is computed would add them again.
    await eraseFromCohorts(transaction, projectId!, ids);
    await addToReceipt(transaction, id, { erasedProfiles: Number(numDeletedRows) });
    await changeJob(transaction, id, { state: "cleaning" });
    return true;
  });
}
