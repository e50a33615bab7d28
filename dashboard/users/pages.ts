export { CohortPage } from "../cohorts/cohort-page.tsx";
export { CohortsPage } from "../cohorts/cohorts-page.tsx";
export { GroupPage } from "../groups/group-page.tsx";
export { GroupsPage } from "../groups/groups-page.tsx";
export { UserPage } from "./user-page.tsx";
export { UsersPage } from "./users-page.tsx";
