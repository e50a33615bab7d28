/** The pages that are about rules. In one file, because who opens one often opens the other. */
export { AlertsPage } from "../alerts/alerts-page.tsx";
export { DeliveriesPage } from "../deliveries/deliveries-page.tsx";
export { DestinationsPage } from "../destinations/destinations-page.tsx";
export { SilencesPage } from "../silences/silences-page.tsx";
export { RulePage } from "./rule-page.tsx";
export { RulesPage } from "./rules-page.tsx";
