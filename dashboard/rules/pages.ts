/** The pages about what people are told, and when. In one file, because who opens one often opens the other. */
export { AlertsPage } from "../alerts/alerts-page.tsx";
export { DeliveriesPage } from "../deliveries/deliveries-page.tsx";
export { DestinationsPage } from "../destinations/destinations-page.tsx";
export { HeartbeatPage } from "../heartbeats/heartbeat-page.tsx";
export { HeartbeatsPage } from "../heartbeats/heartbeats-page.tsx";
export { OnCallPage } from "../on-call/on-call-page.tsx";
export { ReportsPage } from "../reports/reports-page.tsx";
export { SilencesPage } from "../silences/silences-page.tsx";
export { RulePage } from "./rule-page.tsx";
export { RulesPage } from "./rules-page.tsx";
