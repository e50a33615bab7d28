import { z } from "@hono/zod-openapi";

const count = z.int();

export const ServerStatus = z
  .object({
    ok: z.literal(true),
    version: z.string(),
    commit: z.string().nullable().openapi({
      description: "The commit that the program is from, shortened. Null if that is unknown.",
    }),
    startedAt: z.string().openapi({ format: "date-time", description: "Start of this node." }),
    memoryBytes: count,
    database: z.object({
      bytes: count.openapi({ description: "Size of the database, with its log." }),
      freeBytes: count.nullable().openapi({
        description: "Free space on the database's disk. Null if that is another server's.",
      }),
      daysUntilFull: z.number().nullable().openapi({
        description:
          "Days until that disk is full, at the rate of the last two weeks; 36,500 also if it does not fill. Null in the first day.",
      }),
    }),
    olderEvents: z
      .object({
        engine: z.string().openapi({ description: "The database that has them." }),
        failure: z.string().nullable().openapi({
          description: "Why older events can't be read now. Null if they can.",
        }),
        blocks: count.openapi({ description: "Blocks of events that were moved there." }),
        events: count.openapi({ description: "Events that were moved there, removed ones included." }),
        bytes: count.nullable().openapi({ description: "Their size. Null if that database doesn't answer." }),
        servers: z
          .array(
            z.object({
              address: z.string().openapi({ description: "Its host, port and database." }),
              failure: z
                .string()
                .nullable()
                .openapi({ description: "Why it doesn't answer. Null if it does." }),
              isCurrent: z.boolean().openapi({
                description: "Whether it has all that was moved. Otherwise it isn't read until it has.",
              }),
              lacks: z
                .object({ blocks: count, events: count, removals: count })
                .openapi({ description: "What was moved or removed, and isn't there or is still there." }),
              bytes: count
                .nullable()
                .openapi({ description: "The size of its events. Null if it doesn't answer." }),
            }),
          )
          .openapi({ description: "The servers of that database. Each has all events that were moved." }),
        waiting: z.object({
          events: count.openapi({ description: "Events that are not there yet, counted up to a million." }),
          seconds: z.number().openapi({
            description:
              "Time since the first of them arrived. Small numbers of events are moved after an hour.",
          }),
        }),
        shipping: z
          .object({
            failure: z.string().nullable().openapi({ description: "Why the last attempt failed." }),
            failedAttempts: count.openapi({ description: "Since this node started." }),
          })
          .openapi({ description: "How this node moves events." }),
      })
      .nullable()
      .openapi({
        description: "The second database, which has all but the newest events. Null if there is none.",
      }),
    recording: z.object({
      storedInMinute: count.openapi({
        description: "Events that this node stored in the last minute.",
      }),
      commitMs: z
        .object({ p50: z.number(), p99: z.number() })
        .nullable()
        .openapi({ description: "Of the last 1,000 commits of this node, with their fsync." }),
      waiting: count.openapi({ description: "Events that wait for a commit." }),
      streams: count.openapi({ description: "Open live streams of this node." }),
      rejected: count.openapi({ description: "Rejected events that are kept, of all projects." }),
    }),
    notifying: z.object({
      outbox: count.openapi({ description: "Events whose deliveries are still to be made." }),
      deliveries: z.record(z.string(), count).openapi({ description: "Deliveries that are kept, by state." }),
      failingDestinations: count,
    }),
    unfinishedJobs: count,
    backup: z.object({
      isScheduled: z.boolean(),
      failure: z.string().nullable().openapi({ description: "Why the last scheduled backup failed." }),
      last: z
        .object({ at: z.string(), file: z.string(), bytes: count, events: count })
        .nullable()
        .openapi({ description: "The last successful backup." }),
      changes: z
        .object({
          behindSeconds: z.number().openapi({
            description: "Age of the oldest change that can't be restored yet; 0 if all can.",
          }),
          failure: z.string().nullable().openapi({ description: "Why changes can't be stored." }),
        })
        .nullable()
        .openapi({ description: "The continuous backup. Null if there is none." }),
      verified: z
        .object({ at: z.string(), ok: z.boolean(), detail: z.string() })
        .nullable()
        .openapi({ description: "The last time that the newest backup was restored to check it." }),
    }),
  })
  .openapi("ServerStatus");
export type ServerStatus = z.infer<typeof ServerStatus>;
