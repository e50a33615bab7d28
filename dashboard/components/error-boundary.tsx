import { Component, type ReactNode } from "react";

type Props = {
  fallback: (error: unknown, retry: () => void) => ReactNode;
  /** When this changes, the error is reset and the children are rendered again. */
  resetKey?: unknown;
  onError?: (error: unknown) => void;
  children: ReactNode;
};

/** Shows the fallback in place of children that fail to render. */
export class ErrorBoundary extends Component<Props, { error: unknown; resetKey: unknown }> {
  override state = { error: null, resetKey: this.props.resetKey };

  static getDerivedStateFromError(error: unknown) {
    return { error: error ?? new Error("Something went wrong.") };
  }

  static getDerivedStateFromProps(props: Props, state: { resetKey: unknown }) {
    return props.resetKey === state.resetKey ? null : { error: null, resetKey: props.resetKey };
  }

  override componentDidCatch(error: unknown) {
    this.props.onError?.(error);
  }

  override render() {
    if (this.state.error === null) return this.props.children;
    return this.props.fallback(this.state.error, () => this.setState({ error: null }));
  }
}
