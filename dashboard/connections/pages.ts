/** Pages about connections, besides destinations and deliveries (rules/pages.ts). They are often opened together. */
export { KeysPage } from "../keys/keys-page.tsx";
export { RejectedPage } from "../rejected/rejected-page.tsx";
export { WebhooksPage } from "../webhooks/webhooks-page.tsx";
export { ConnectionsPage } from "./connections-page.tsx";
