// The shared worker: one event stream for all tabs, because browsers open only six connections over HTTP/1.1.
import { createHub, type FromTab } from "./hub.ts";

const connect = createHub();

self.addEventListener("connect", (event) => {
  const port = (event as MessageEvent).ports[0]!;
  const receive = connect((message) => port.postMessage(message));
  port.onmessage = ({ data }: MessageEvent<FromTab>) => receive(data);
});
