/** The pages that are about heartbeats. In one file, because who opens one often opens the other. */
export { HeartbeatPage } from "./heartbeat-page.tsx";
export { HeartbeatsPage } from "./heartbeats-page.tsx";
