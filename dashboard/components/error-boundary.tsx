import { Component, type ReactNode } from "react";

type Props = {
  fallback: (error: unknown, retry: () => void) => ReactNode;
  /** What is shown belongs to this: when it changes, it is tried again. */
  of?: unknown;
  onError?: (error: unknown) => void;
  children: ReactNode;
};

/** Keeps an error in its box: what is around it goes on. */
export class ErrorBoundary extends Component<Props, { error: unknown; of: unknown }> {
  override state = { error: null, of: this.props.of };

  static getDerivedStateFromError(error: unknown) {
    return { error: error ?? new Error("Something went wrong.") };
  }

  static getDerivedStateFromProps(props: Props, state: { of: unknown }) {
    return props.of === state.of ? null : { error: null, of: props.of };
  }

  override componentDidCatch(error: unknown) {
    this.props.onError?.(error);
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return this.props.fallback(this.state.error, () => this.setState({ error: null }));
  }
}
