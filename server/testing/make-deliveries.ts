import { FanOut } from "../notifications/fan-out.ts";
import { RecentEvents } from "../notifications/recent-events.ts";
import type { Store } from "../storage/store.ts";
import { until } from "./until.ts";

/** Makes the deliveries of a store's events, as the server does in the background. */
export async function makeDeliveries(store: Store): Promise<void> {
  const { control, events } = store;
  const fanOut = new FanOut({
    store,
    events: new RecentEvents(events),
    onMade() {},
    onError(error) {
      throw error;
    },
  });
  fanOut.wake();
  await until(async () => !(await control.selectFrom("outbox").select("id").limit(1).executeTakeFirst()));
  await fanOut.close();
}
