import { join } from "node:path";
import { segmentName, type WalPosition } from "../log-position.ts";
import { SegmentWriter } from "../segment.ts";
import { databaseFile } from "./directory.ts";
import { KnownPages } from "./known-pages.ts";
import { walPagesMax } from "./open.ts";
import { type FollowState, newGeneration, type Segment, SegmentDirectory } from "./segment-directory.ts";
import { checksumAt, lastCommit, restartsSince, scanWal, type WalChecksum, type WalHeader } from "./wal.ts";
import { WalFile } from "./wal-file.ts";
import { WalGuard } from "./wal-guard.ts";

/** The log is restarted when it has this share of its usual length: before the writer moves its pages. */
const restartShare = 0.5;
/** A log this many times longer than usual is not being captured as fast as it grows, or can't be restarted. */
const logLengthMax = 16;

/** What happened to the log while it was followed. */
export type FollowStatus = {
  /** The unbroken sequence of changes that is being captured; null if none is. */
  generation: string | null;
  /** Why the last generation ended, if it had to. */
  interruption: string | null;
  /** Whether the log is long enough to be restarted. */
  isLong: boolean;
  /** The time of the oldest change that was captured and not shipped. */
  unshippedSinceMs: number | null;
  waiting: Segment[];
};

type Following = Pick<FollowState, "generation" | "salts" | "mayRestart"> & {
  /** Up to here, the log was read; null before a first log. */
  header: WalHeader | null;
  position: WalPosition;
  checksum: WalChecksum;
  /** Up to here, changes are in segments. */
  captured: WalPosition;
};

/**
 * Captures the changes of the database from its write-ahead log, in its own thread. It decides when the log may be
 * restarted; others only move pages.
 */
export class WalFollower {
  readonly #directory: SegmentDirectory;
  readonly #target: string;
  readonly #file: string;
  readonly #pagesMax: number;
  #guard: WalGuard | null = null;
  #log: WalFile;
  #known = new KnownPages();
  #following: Following | null = null;
  #interruption: string | null = null;
  #open: SegmentWriter | null = null;
  #waiting: (Segment & { sinceMs: number })[] = [];
  #lastMs = 0;

  constructor(dataDirectory: string, target: string) {
    this.#directory = new SegmentDirectory(dataDirectory);
    this.#target = target;
    this.#file = databaseFile(dataDirectory);
    this.#log = new WalFile(this.#file);
    this.#pagesMax = walPagesMax(dataDirectory);
  }

  get status(): FollowStatus {
    const { generation = null, position, mayRestart = false } = this.#following ?? {};
    return {
      generation,
      interruption: this.#interruption,
      isLong: !mayRestart && (position?.frame ?? 0) > this.#pagesMax * restartShare,
      unshippedSinceMs: this.#waiting[0]?.sinceMs ?? (this.#open?.firstMs || null),
      waiting: this.#waiting.map(({ name, file, bytes }) => ({ name, file, bytes })),
    };
  }

  /**
   * Continues the generation of the last run, if nothing was lost since. Call it before anything else opens the
   * database.
   */
  resume(): void {
    const state = this.#directory.readState();
    const stamp = this.#directory.stampOfDatabase();
    if (!state || state.target !== this.#target) {
      this.#directory.removeAll();
      return;
    }
    this.#guard = new WalGuard(this.#file);
    const begun = this.#guard.renew(() => this.#findPlace(state, stamp));
    if (!begun) {
      this.interrupt("the database was changed while the server did not run");
      return;
    }
    // A log that was deleted begins with random salts.
    this.#following = state.closed === null ? begun : { ...begun, salts: null };
    this.#directory.removeAfter(state);
    if (state.closed !== null) this.#writeState(null);
    this.#waiting = this.#directory.segments().map((segment) => ({ ...segment, sinceMs: Date.now() }));
  }

  /** Begins a generation: whatever is committed from now on is captured. It needs a copy of the database. */
  begin(): void {
    this.#end();
    this.#directory.removeAll();
    this.#directory.create();
    this.#interruption = null;
    this.#guard = new WalGuard(this.#file);
    this.#following = this.#guard.renew(() => {
      const header = this.#log.header();
      const nothing = { frame: 0, checksum: [0, 0] as WalChecksum };
      const { frame, checksum } = header ? lastCommit(this.#log.handle!, header) : nothing;
      const position = { index: 0, frame };
      return {
        generation: newGeneration(),
        header,
        salts: header && [header.salt1, header.salt2],
        position,
        checksum,
        captured: position,
        mayRestart: true,
      };
    });
    this.#writeState(null);
  }

  /** Captures what was committed since the last call, as a recovery point. */
  capture(): void {
    if (!this.#following || !this.#log.wasWritten()) return;
    this.#guard!.renew(() => this.#captureAll());
    this.#checkBounds();
  }

  /** Captures, and ends the current segment. */
  cut(): void {
    this.capture();
    if (this.#following && this.#open) this.#endSegment(this.#following.mayRestart);
  }

  /** Lets the next commit restart the log, once all of it is captured. Call it while nothing is committed. */
  restartLog(): void {
    if (!this.#following) return;
    this.#guard!.letRestart(() => {
      this.#captureAll();
      this.#following!.mayRestart = true;
      this.#endSegment(true);
    });
  }

  /** Call it when a segment was shipped. */
  shipped(name: string): void {
    this.#directory.remove(name);
    this.#waiting = this.#waiting.filter((segment) => segment.name !== name);
  }

  /** Gives up the generation: the log may be restarted, and what was captured and not shipped is removed. */
  interrupt(why: string): void {
    this.#end();
    this.#directory.removeAll();
    this.#interruption = why;
  }

  /** Captures the rest. Call it after all other connections of the process are closed. */
  close(): void {
    if (this.#following) {
      this.#guard!.renew(() => this.#captureAll());
      this.#endSegment(false);
    }
    const following = this.#following;
    const waiting = this.#waiting;
    this.#end();
    this.#waiting = waiting;
    if (!following || this.#directory.hasLog()) return;
    this.#following = { ...following, mayRestart: true };
    this.#writeState(this.#directory.stampOfDatabase());
  }

  #end(): void {
    this.#guard?.close();
    this.#guard = null;
    this.#open?.close();
    this.#open = null;
    this.#log.close();
    this.#log = new WalFile(this.#file);
    this.#known = new KnownPages();
    this.#following = null;
    this.#waiting = [];
  }

  /** Where to continue; null if changes may be missing. */
  #findPlace(state: FollowState, stamp: string | null): Following | null {
    const { generation, durable, captured, checksum, salts, mayRestart } = state;
    const following = { generation, salts, mayRestart, position: durable, captured, checksum };
    const header = this.#log.header();
    if (state.closed !== null && state.closed === stamp) return { ...following, header: null };
    if (!header || !salts) return null;
    if (header.salt1 === salts[0] && header.salt2 === salts[1]) {
      // After a power cut, a frame that was captured can be valid though one before it is lost.
      if (lastCommit(this.#log.handle!, header).frame < durable.frame) return null;
      const found = checksumAt(this.#log.handle!, header, durable.frame);
      return found?.[0] === checksum[0] && found[1] === checksum[1] ? { ...following, header } : null;
    }
    return mayRestart && restartsSince(salts[0], header) === 1 ? { ...following, header: null } : null;
  }

  #captureAll(): void {
    while (this.#captureSome());
  }

  /** Returns whether there may be more. */
  #captureSome(): boolean {
    const following = this.#following!;
    const header = this.#log.header();
    if (!header) return false;
    if (header.salt1 !== following.header?.salt1 || header.salt2 !== following.header.salt2) {
      const restarts = following.salts ? restartsSince(following.salts[0], header) : 1;
      if (restarts === null || restarts === 0)
        throw new Error("the write-ahead log was replaced by another program");
      following.header = header;
      following.salts = [header.salt1, header.salt2];
      following.position = { index: following.position.index + restarts, frame: 0 };
      following.checksum = header.checksum;
    }
    const { position, checksum } = following;
    const scan = scanWal(this.#log.handle!, header, position.frame, checksum);
    if (scan.frame === position.frame) return false;
    const to = { index: position.index, frame: scan.frame };
    const { pageBytes } = header;
    const { databasePages } = scan;
    const readPage = (frame: number, content: Buffer) => this.#log.readPage(frame, content);
    const changed = this.#known.changed(scan.pages, { pageBytes, databasePages }, readPage);
    if (changed.length > 0) {
      const from = following.captured;
      this.#lastMs = Math.max(Date.now(), this.#lastMs + 1);
      this.#open ??= new SegmentWriter(this.#directory.openFile, from);
      this.#open.append(
        { from, to, atMs: this.#lastMs, pageBytes, databasePages, pages: changed.length },
        changed,
        (page, content) => readPage(scan.pages.get(page)!, content),
      );
      following.captured = to;
    }
    // What was found after the last restart must be captured before the next one.
    following.mayRestart = false;
    following.position = to;
    following.checksum = scan.checksum;
    return true;
  }

  #endSegment(mayRestart: boolean): void {
    if (this.#open) {
      const { firstMs, lastMs, from, bytes } = this.#open;
      this.#open.end();
      this.#open = null;
      const name = segmentName(from, lastMs);
      this.#directory.keepOpenAs(name);
      this.#waiting.push({ name, file: join(this.#directory.path, name), bytes, sinceMs: firstMs });
    }
    this.#following!.mayRestart = mayRestart;
    this.#writeState(null);
  }

  #writeState(closed: string | null): void {
    const { generation, position, captured, checksum, salts, mayRestart } = this.#following!;
    this.#directory.writeState({
      generation,
      target: this.#target,
      durable: position,
      captured,
      checksum: [checksum[0], checksum[1]],
      salts,
      mayRestart,
      closed,
    });
  }

  #checkBounds(): void {
    const bytes = this.#waiting.reduce((sum, segment) => sum + segment.bytes, this.#open?.bytes ?? 0);
    const refusal = this.#directory.refusalOf(bytes);
    if (refusal !== null) this.interrupt(refusal);
    else if (this.#following!.position.frame > logLengthMax * this.#pagesMax)
      this.interrupt("the database changed faster than its changes could be captured");
  }
}
