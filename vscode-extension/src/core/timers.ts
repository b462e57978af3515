/** Named timers: starting one again replaces it. */
export class Timers {
  private readonly timers = new Map<string, NodeJS.Timeout>()

  start(name: string, milliseconds: number, run: () => void): void {
    this.clear(name)
    const timer = setTimeout(() => {
      this.timers.delete(name)
      run()
    }, milliseconds)
    this.timers.set(name, timer)
  }

  has(name: string): boolean {
    return this.timers.has(name)
  }

  clear(name: string): void {
    clearTimeout(this.timers.get(name))
    this.timers.delete(name)
  }

  clearAll(): void {
    for (const name of [...this.timers.keys()]) this.clear(name)
  }
}
