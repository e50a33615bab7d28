/** A frame in a sequence of logs, where each restart of the log counts one more. Frame 0 is the log's begin. */
export type WalPosition = { index: number; frame: number };

export function comparePositions(a: WalPosition, b: WalPosition): number {
  return a.index - b.index || a.frame - b.frame;
}

/** Where a copy is in a generation of segments. */
export type CopyPosition = { generation: string; position: WalPosition };

/** A segment's name: the position before it, and the time of its last point. So names sort in the order of the log. */
export function segmentName({ index, frame }: WalPosition, lastMs: number): string {
  const digits = (value: number) => value.toString(16).padStart(8, "0");
  return `${digits(index)}-${digits(frame)}-${new Date(lastMs).toISOString().replace(/[-:.]/g, "")}.segment`;
}

const namePattern = /^([\da-f]{8})-([\da-f]{8})-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z\.segment$/;

/** Reads a segment's name; null if it is none. */
export function parseSegmentName(name: string): { from: WalPosition; lastMs: number } | null {
  const parts = namePattern.exec(name);
  if (!parts) return null;
  const [, index, frame, year, month, day, hours, minutes, seconds, ms] = parts;
  return {
    from: { index: Number.parseInt(index!, 16), frame: Number.parseInt(frame!, 16) },
    lastMs: Date.parse(`${year}-${month}-${day}T${hours}:${minutes}:${seconds}.${ms}Z`),
  };
}
