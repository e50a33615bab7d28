import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { createClient } from "../index.ts";
import { TidingsProvider, TrackErrors, useTidings, useTrack, useTrackOnMount } from "../react.ts";

// A page for `react.test.ts`. Its address has the server's address and the API key.

type Events = { "Cart viewed": { coupon?: string }; "Item added": { item: number } };

const query = new URLSearchParams(location.search);
const tidings = createClient<Events>({ baseUrl: query.get("server")!, apiKey: query.get("key")! });

function Shop() {
  const [userId, setUserId] = useState<string>();
  return (
    <TidingsProvider client={tidings} defaults={{ channel: "shop", userId, tags: { version: 2 } }}>
      <button type="button" onClick={() => setUserId("u1")}>
        Sign in
      </button>
      <p>{userId === undefined ? "Signed out" : `Signed in as ${userId}`}</p>
      <TrackErrors
        notify
        fallback={(error, retry) => (
          <button type="button" onClick={retry}>
            Retry after {String(error)}
          </button>
        )}
      >
        <Cart />
      </TrackErrors>
      <Flush />
    </TidingsProvider>
  );
}

function Cart() {
  const track = useTrack<Events>();
  const [isBroken, setIsBroken] = useState(false);
  useTrackOnMount<Events>({ name: "Cart viewed" });
  if (isBroken) throw new TypeError("no stock");
  return (
    <>
      <button type="button" onClick={() => track({ name: "Item added", tags: { item: 7 } })}>
        Add
      </button>
      <button type="button" onClick={() => setIsBroken(true)}>
        Break
      </button>
    </>
  );
}

function Flush() {
  const client = useTidings();
  const [isFlushed, setIsFlushed] = useState(false);
  return (
    <button type="button" onClick={() => client.flush().then(setIsFlushed)}>
      {isFlushed ? "Flushed" : "Flush"}
    </button>
  );
}

createRoot(document.body).render(
  <StrictMode>
    <Shop />
  </StrictMode>,
);
