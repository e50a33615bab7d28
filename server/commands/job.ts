import { defineCommand } from "citty";
import { printTable } from "./table.ts";
import { withStore } from "./with-store.ts";

const list = defineCommand({
  meta: { name: "list", description: "List jobs that delete data, newest first" },
  args: {
    open: { type: "boolean", description: "Only those that are not done" },
    json: { type: "boolean", description: "Print each job as a line of JSON" },
  },
  run: ({ args }) =>
    withStore(async ({ control }) => {
      const rows = await control
        .selectFrom("jobs")
        .leftJoin("projects", "projects.id", "jobs.projectId")
        .select(["jobs.id", "jobs.kind", "jobs.state", "jobs.done", "jobs.total", "jobs.createdAt"])
        .select(["jobs.endedAt", "projects.slug"])
        .$if(args.open === true, (query) => query.where("jobs.endedAt", "is", null))
        .orderBy("jobs.createdAt", "desc")
        .orderBy("jobs.id", "desc")
        .execute();
      const jobs = rows.map(({ slug, createdAt, endedAt, ...job }) => ({
        ...job,
        project: slug,
        createdAt: new Date(createdAt).toISOString(),
        endedAt: endedAt === null ? null : new Date(endedAt).toISOString(),
      }));
      if (args.json) for (const job of jobs) console.log(JSON.stringify(job));
      else
        printTable([
          ["JOB", "KIND", "PROJECT", "STATE", "EVENTS", "STARTED"],
          ...jobs.map(({ id, kind, project, state, done, total, createdAt }) => [
            id,
            kind,
            project ?? "-",
            state,
            total === null ? String(done) : `${done} of ${total}`,
            createdAt,
          ]),
        ]);
    }),
});

export const jobCommand = defineCommand({
  meta: { name: "job", description: "Show the jobs that delete channels, projects and users" },
  subCommands: { list },
});
