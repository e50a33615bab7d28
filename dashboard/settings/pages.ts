/** The pages about the project itself. In one file, because the first load names each file. */
export { AuditPage } from "../audit/audit-page.tsx";
export { MembersPage } from "../members/members-page.tsx";
export { ProjectSettingsPage } from "./project-settings-page.tsx";
