/** When a server that has ended by itself is started again. */

const WINDOW_MS = 180_000
/** The first time at once; after the last one, somebody has to look. */
const DELAYS_MS = [0, 1_000, 4_000, 15_000]

/** Counts ends, and says how long to wait before each new start. */
export class Backoff {
  private ends: number[] = []

  constructor(private readonly now: () => number = Date.now) {}

  /** Milliseconds to wait, or undefined when it has ended too often in the last minutes. */
  next(): number | undefined {
    const now = this.now()
    this.ends = [...this.ends.filter((end) => now - end < WINDOW_MS), now]
    return DELAYS_MS[this.ends.length - 1]
  }

  /** Somebody has started it: what was before does not count. */
  reset(): void {
    this.ends = []
  }
}
