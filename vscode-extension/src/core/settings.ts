/** Convert the editor's settings to the server's, and collect the editor's exclude globs. */

/** A setting in the editor. */
export interface Setting {
  /** The name below `winnow.`, such as `index.max_files`. */
  readonly name: string
  readonly value: unknown
  /** True if the user set it. A default must not override the server's own configuration files. */
  readonly isSet: boolean
}

/** Settings in units that people use, and the server's settings that they replace. */
export const PLAIN_SETTINGS = [
  { name: 'largestAnswer', serverName: 'limits.answer_bytes', factor: 1024 * 1024 },
  { name: 'longestSearch', serverName: 'limits.search_seconds', factor: 1 },
] as const

/** Return the settings tree for `workspace/configuration`: only settings the user set. */
export function serverSettings(settings: Iterable<Setting>): Record<string, unknown> {
  const tree: Record<string, unknown> = {}
  for (const { name, value, isSet } of settings) {
    if (!isSet) continue
    const keys = name.split('.')
    const last = keys.pop() as string
    let branch = tree
    for (const key of keys) branch = (branch[key] ??= {}) as Record<string, unknown>
    branch[last] = value
  }
  return tree
}

/** The server accepts at most 100 globs. Hand-written lists are shorter. */
const MAX_GLOBS = 100

/**
 * Return the enabled globs of `files.exclude` and `search.exclude`.
 *
 * A glob with a condition (`{"when": "$(basename).ts"}`) is omitted: it hides a file only if a
 * sibling exists, which the server can't check.
 */
export function excludedGlobs(...settings: readonly (Record<string, unknown> | undefined)[]): string[] {
  const globs = new Set<string>()
  for (const setting of settings) {
    for (const [glob, value] of Object.entries(setting ?? {})) {
      if (value === true && glob.trim()) globs.add(glob)
      else globs.delete(glob)
    }
  }
  return [...globs].slice(0, MAX_GLOBS)
}
