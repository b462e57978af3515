/** The editor's settings as the server takes them, and globs that the editor excludes by. */

/** What the editor knows of one setting. */
export interface Setting {
  /** The name below `winnow.`, such as `index.max_files`. */
  readonly name: string
  readonly value: unknown
  /** Whether somebody has set it: what is only a default must not hide the server's own files. */
  readonly isSet: boolean
}

/** The tree that `workspace/configuration` answers: what somebody has set, and nothing else. */
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

/** The server takes a hundred; more are no globs that somebody has written. */
const MOST_GLOBS = 100

/**
 * The globs of `files.exclude` and `search.exclude` that are on.
 *
 * One with a condition (`{"when": "$(basename).ts"}`) is left out: it hides a file beside another
 * one, which the server cannot know of.
 */
export function excludedGlobs(...settings: readonly (Record<string, unknown> | undefined)[]): string[] {
  const globs = new Set<string>()
  for (const setting of settings) {
    for (const [glob, value] of Object.entries(setting ?? {})) {
      if (value === true && glob.trim()) globs.add(glob)
      else globs.delete(glob)
    }
  }
  return [...globs].slice(0, MOST_GLOBS)
}
