/** Delays before restarting a server that exited. */

const WINDOW_MS = 180_000
/** The first restart is immediate. After the last one, the user must restart the server. */
const DELAYS_MS = [0, 1_000, 4_000, 15_000]

/** The recent exits of a server, and the delay before its next restart. */
export class Backoff {
  private exits: number[] = []

  constructor(private readonly now: () => number = Date.now) {}

  /** Return the milliseconds to wait, or undefined after too many exits in the last minutes. */
  nextDelay(): number | undefined {
    const now = this.now()
    this.exits = [...this.exits.filter((exit) => now - exit < WINDOW_MS), now]
    return DELAYS_MS[this.exits.length - 1]
  }

  /** Forget earlier exits, because the user started the server. */
  reset(): void {
    this.exits = []
  }
}
