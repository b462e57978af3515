/** Decide which languages are left to other extensions, and limit the time of an answer. */

/**
 * The maximum time of an answer beside another extension's, in milliseconds. The editor waits for the
 * slowest of all extensions.
 */
export const BUDGET_MS = 150

/** After this time without an answer to a probe, another extension is assumed to work on it. */
const PROBE_MS = 2_000

/** Return the result of a task, or undefined if it takes longer than this many milliseconds. */
export async function within<T>(milliseconds: number, task: PromiseLike<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds)
  })
  try {
    return await Promise.race([task, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Return true if another extension handles the language of a document. */
export type Probe = () => PromiseLike<boolean>

/** The languages that other extensions handle, as far as known. */
export class OtherLanguages {
  private readonly found = new Set<string>()

  constructor(private readonly patience = PROBE_MS) {}

  /** The identifiers of these languages. */
  get all(): readonly string[] {
    return [...this.found].sort()
  }

  has(language: string): boolean {
    return this.found.has(language)
  }

  /** Forget all languages, because the installed extensions have changed. */
  clear(): void {
    this.found.clear()
  }

  /**
   * Return true if another extension handles a language. Use `probe` unless that is known.
   *
   * Other extensions may start late, so "no" is never remembered. A probe without other extensions
   * answers immediately. One that takes long waits for another extension, and the editor would too.
   */
  async isHandled(language: string, probe: Probe): Promise<boolean> {
    if (this.found.has(language)) return true
    const remembered = Promise.resolve(probe()).then((isHandled) => {
      if (isHandled) this.found.add(language)
      return isHandled
    })
    remembered.catch(() => undefined) // It may fail after the time is over.
    return (await within(this.patience, remembered)) ?? true
  }
}
