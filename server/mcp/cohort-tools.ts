import { z } from "@hono/zod-openapi";
import {
  CohortDraft,
  CohortList,
  CohortMembers,
  CohortPreview,
  CohortResponse,
  NewCohort,
} from "../schemas/cohort.ts";
import { listing } from "./inputs.ts";
import { segmentOf, type Tool, withQuery } from "./tool.ts";

const conditionsText =
  'Such as: {"type":"property","name":"plan","test":"is","values":["pro"]}; {"type":"events","q":"name:\\"Order placed\\"",' +
  '"atLeast":2,"days":30}, where "atMost":0 finds who didn\'t, and q is a search; {"type":"lastSeen","beforeDays":14}; ' +
  '{"type":"firstSeen","withinDays":7}; {"type":"search","q":"ada"} as find_users takes it; {"type":"users","userIds":["u1"]}; ' +
  '{"type":"group","match":"any","conditions":[…]}';

const draft = {
  match: CohortDraft.shape.match.describe("Whether a person must pass all conditions, any of them, or none"),
  conditions: CohortDraft.shape.conditions.describe(conditionsText),
};

/** The tools that count people by conditions, and save such conditions as cohorts. */
export const cohortTools: readonly Tool[] = [
  {
    name: "list_cohorts",
    title: "List cohorts",
    description:
      'Lists saved searches of people, with their conditions and how many people are in each. A search names one as cohort:NAME, or cohort:"A NAME", to find events of its people.',
    permission: "events:read",
    isReadOnly: true,
    input: z.object({}),
    output: CohortList,
    run: (api) => api("/api/cohorts"),
  },
  {
    name: "count_people",
    title: "Count people by conditions",
    description:
      "Counts the people whom conditions describe, by what they are and what they did or didn't do, and names a few of them. Nothing is saved.",
    permission: "cohorts:change",
    isReadOnly: true,
    input: z.object(draft),
    output: CohortPreview,
    run: (api, values) => api("/api/cohorts/preview", values),
  },
  {
    name: "list_cohort_members",
    title: "List the people of a cohort",
    description:
      "Lists the people of a cohort with their properties, numbers of events, and when they were last seen.",
    permission: "events:read",
    isReadOnly: true,
    input: z.object({ id: z.string().describe("The cohort's id, as list_cohorts has it"), ...listing }),
    output: CohortMembers,
    run: (api, { id, ...values }) => api(withQuery(`/api/cohorts/${segmentOf(id)}/members`, values)),
  },
  {
    name: "create_cohort",
    title: "Create a cohort",
    description:
      "Saves conditions on people under a name. Who passes them joins the cohort within half a minute, and who doesn't any more leaves it. Try them with count_people first.",
    permission: "cohorts:change",
    isReadOnly: false,
    input: z.object({
      name: NewCohort.shape.name.describe("A short name that no other cohort has"),
      ...draft,
    }),
    output: CohortResponse,
    run: (api, values) => api("/api/cohorts", values),
  },
];
