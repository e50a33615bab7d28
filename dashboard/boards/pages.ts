/** Boards, and the pages about their numbers. In one file, because the first load names each file. */
export { AnnotationsPage } from "../annotations/annotations-page.tsx";
export { InsightsPage } from "../insights/insights-page.tsx";
export { WhoPage } from "../who/who-page.tsx";
export { BoardsPage } from "./boards-page.tsx";
