"use client";
import {
  Component,
  type Context,
  createContext,
  createElement,
  type ErrorInfo,
  type ReactElement,
  type ReactNode,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useRef,
} from "react";
import { codeBlock, eventLimits, fitLine, fitLines } from "./event-text.ts";
import type { AnyEvents, TagValue, TidingsClient, TrackedEvent } from "./index.ts";

/** What components don't have to repeat for each event. */
export type TrackDefaults = {
  /** Default: `web`. */
  channel?: string | undefined;
  /** The user who is signed in. */
  userId?: string | undefined;
  /** Added to the tags of each event. */
  tags?: Record<string, TagValue> | undefined;
};

/** An event of a component: `channel` can be left to the provider. */
export type ComponentEvent<Events extends object = AnyEvents> =
  TrackedEvent<Events> extends infer Event
    ? Event extends { channel: string }
      ? Omit<Event, "channel"> & { channel?: string }
      : never
    : never;

/** A client for any types of events: a client for typed ones has these methods too. */
type AnyClient = Pick<TidingsClient, keyof TidingsClient>;

type Provided = { client: AnyClient; defaults: TrackDefaults };

const TidingsContext: Context<Provided | null> = createContext<Provided | null>(null);

export type TidingsProviderProps = {
  /** Created once, outside of components. */
  client: AnyClient;
  defaults?: TrackDefaults;
  children?: ReactNode;
};

/**
 * Gives a client to the components below.
 *
 * @example
 * const tidings = createClient({ baseUrl: "https://tidings.example.com", apiKey: "tdg_pk_…" });
 *
 * <TidingsProvider client={tidings} defaults={{ channel: "shop", userId: user?.id }}>
 *   <Shop />
 * </TidingsProvider>
 */
export function TidingsProvider({ client, defaults = {}, children }: TidingsProviderProps): ReactElement {
  const { channel, userId, tags } = defaults;
  const value = useMemo(
    () => ({ client, defaults: { channel, userId, tags } }),
    [client, channel, userId, tags],
  );
  return createElement(TidingsContext.Provider, { value }, children);
}

/** The client of the provider. */
export function useTidings<Events extends object = AnyEvents>(): TidingsClient<Events> {
  return provided(useContext(TidingsContext)).client as TidingsClient<Events>;
}

/**
 * Returns a function that captures an event, with the provider's defaults. It never throws, and changes only with them.
 *
 * @example
 * const track = useTrack();
 * <button onClick={() => track({ name: "Report exported", tags: { format: "pdf" } })}>Export</button>
 */
export function useTrack<Events extends object = AnyEvents>(): (event: ComponentEvent<Events>) => void {
  const context = provided(useContext(TidingsContext));
  return useCallback((event: ComponentEvent<Events>) => capture(context, event as ComponentEvent), [context]);
}

/**
 * Captures an event when a component appears; once, even in strict mode.
 *
 * @example
 * useTrackOnMount({ name: "Pricing viewed" });
 */
export function useTrackOnMount<Events extends object = AnyEvents>(event: ComponentEvent<Events>): void {
  const context = provided(useContext(TidingsContext));
  const isTracked = useRef(false);
  useEffect(() => {
    if (isTracked.current) return;
    isTracked.current = true;
    capture(context, event as ComponentEvent);
  });
}

export type TrackErrorsProps = {
  /** Shown instead of the children after an error. `retry` shows them again. Default: nothing. */
  fallback?: ReactNode | ((error: unknown, retry: () => void) => ReactNode);
  /** Default: "Component failed". */
  name?: string;
  /** Default: the provider's. */
  channel?: string;
  /** Notifies the project's members. Default: false. */
  notify?: boolean;
  children?: ReactNode;
};

type TrackErrorsState = { failure: { error: unknown } | null };

/**
 * An error boundary that captures an event for each error below it, with the error's and the components' stack.
 *
 * @example
 * <TrackErrors fallback={<p>Something went wrong.</p>}>
 *   <Cart />
 * </TrackErrors>
 */
export class TrackErrors extends Component<TrackErrorsProps, TrackErrorsState> {
  static override contextType: Context<Provided | null> = TidingsContext;
  declare context: Provided | null;
  override state: TrackErrorsState = { failure: null };

  static getDerivedStateFromError(error: unknown): TrackErrorsState {
    return { failure: { error } };
  }

  override componentDidCatch(error: unknown, { componentStack }: ErrorInfo): void {
    const { name = "Component failed", channel, notify = false } = this.props;
    const stacks = [error instanceof Error && error.stack, componentStack].filter(Boolean);
    capture(provided(this.context), {
      name: fitLine(name, eventLimits.name),
      ...(channel !== undefined && { channel }),
      ...(notify && { notify }),
      ...(stacks.length > 0 && { description: codeBlock(stacks.join("\n")) }),
      tags: { error: fitLines(String(error), eventLimits.tagValue) },
    });
  }

  override render(): ReactNode {
    provided(this.context);
    const { fallback = null, children } = this.props;
    const { failure } = this.state;
    if (!failure) return children;
    if (typeof fallback !== "function") return fallback;
    return fallback(failure.error, () => this.setState({ failure: null }));
  }
}

function provided(value: Provided | null): Provided {
  if (value) return value;
  throw new Error("Put a <TidingsProvider> around the components that use Tidings.");
}

function capture({ client, defaults }: Provided, event: ComponentEvent): void {
  const { channel = "web", userId, tags } = defaults;
  client.capture({
    channel,
    ...(userId !== undefined && { userId }),
    ...event,
    tags: { ...tags, ...event.tags },
  });
}
