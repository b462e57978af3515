/** The standard error of a program: each line is passed on, and the last one tells why it ended. */

import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'

export class ErrorOutput {
  private last = ''
  private ended: Promise<void> | undefined

  constructor(private readonly onLine: (line: string) => void) {}

  /** Read the output of a new program. */
  read(input: Readable): void {
    this.last = ''
    const lines = createInterface({ input, crlfDelay: Infinity })
    lines.on('line', (line) => {
      this.onLine(line)
      this.last = line.trim() || this.last
    })
    this.ended = new Promise((resolve) => lines.once('close', () => resolve()))
  }

  /** Return the last line after the output has ended; undefined if it doesn't end in this time. */
  async lastLine(milliseconds: number): Promise<string | undefined> {
    const isLate = new Promise<boolean>((resolve) => setTimeout(resolve, milliseconds, true))
    const ended = this.ended?.then(() => false)
    return (await Promise.race([isLate, ...(ended ? [ended] : [])])) ? undefined : this.last
  }
}
