import { randomUUID } from "node:crypto";
import { AlertLinks } from "../alerts/alert-links.ts";
import type { Config } from "../config/config.ts";
import { generateSecretKey, type SecretBox } from "../storage/secret-box.ts";
import { getOrCreateSecret, getOrCreateSetting } from "../storage/settings.ts";
import type { Store } from "../storage/store.ts";
import { DeliveryWorker } from "./delivery-worker.ts";
import { DiskWatch } from "./disk-watch.ts";
import { FanOut } from "./fan-out.ts";
import { HandOverWorker } from "./hand-over-worker.ts";
import { type AccountStreams, LiveNotifications } from "./live-notifications.ts";
import { MonitorWorker } from "./monitor-worker.ts";
import { openKinds } from "./open-kinds.ts";
import { RecentEvents } from "./recent-events.ts";
import type { ReportRenderer } from "./send-delivery.ts";
import { ServerOutages } from "./server-outages.ts";
import { UnsubscribeLinks } from "./unsubscribe.ts";

type Deps = {
  store: Store;
  streams: AccountStreams;
  secrets: SecretBox;
  config: Config;
  baseUrl: string;
  /** Sends and watches nothing by itself. */
  isPassive: boolean;
  onError: (error: unknown) => void;
  now: () => number;
  renderReport: ReportRenderer;
};

/**
 * Wires up all that notifies. Nothing is sent before `start`. It can be called again after it failed, such as while the
 * storage is unavailable.
 */
export async function openNotifications({
  store,
  streams,
  secrets,
  config,
  baseUrl,
  isPassive,
  onError,
  now,
  renderReport,
}: Deps) {
  const { control } = store;
  const unsubscribeSecret = await getOrCreateSecret(control, secrets, "unsubscribeSecret", generateSecretKey);
  const installationId = await getOrCreateSetting(control, "installationId", randomUUID);
  const recentEvents = new RecentEvents(store.events);
  const liveNotifications = new LiveNotifications(control, recentEvents, streams, onError);
  await liveNotifications.start();
  // The last step that can fail, because the mailer must be closed.
  const { close: closeKinds, ...outgoing } = await openKinds(config, control, secrets, baseUrl);

  const unsubscribeLinks = new UnsubscribeLinks(unsubscribeSecret, baseUrl);
  const alertLinks = new AlertLinks(unsubscribeSecret, baseUrl);
  const deliveryWorker = new DeliveryWorker({
    store,
    events: recentEvents,
    kinds: outgoing.kinds,
    secrets,
    policy: { allowPrivate: config.allowPrivateAddresses },
    baseUrl,
    unsubscribeLinks,
    alertLinks,
    renderReport,
    installationId,
    onError,
  });
  function onMade(): void {
    deliveryWorker.wake();
    liveNotifications.wake();
  }
  const fanOut = new FanOut({ store, events: recentEvents, onError, onMade });
  const monitorWorker = new MonitorWorker({ store, recentEvents, onError, onMade });
  const handOvers = new HandOverWorker({ store, onError, onMade });
  const outages = new ServerOutages({ control, hasEmail: outgoing.mailer !== null, now, onMade });
  const { dataDirectory } = store;
  const diskWatch =
    isPassive || dataDirectory === null ? null : new DiskWatch({ dataDirectory, outages, onError });

  return {
    /** What routes share of them. */
    services: {
      ...outgoing,
      recentEvents,
      unsubscribeLinks,
      alertLinks,
      deliveryWorker,
      fanOut,
      monitorWorker,
      handOvers,
    },
    outages,
    /** Sends what an earlier process left. */
    start(): void {
      fanOut.start();
      monitorWorker.start();
      handOvers.wake();
      deliveryWorker.wake();
    },
    async close(): Promise<void> {
      diskWatch?.close();
      await fanOut.close();
      await monitorWorker.close();
      await handOvers.close();
      await deliveryWorker.close();
      await liveNotifications.close();
      await closeKinds();
    },
  };
}
