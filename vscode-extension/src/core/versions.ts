/** Check that the server's version is supported. */

/** The first version that supports every request of this client. */
export const OLDEST_SERVER = '0.1.0'

/** Return the version in the output of `winnow --version`; undefined for another program. */
export function versionIn(output: string): string | undefined {
  return /^winnow (\d+\.\d+\.\d+\S*)\s*$/m.exec(output)?.[1]
}

/** Return an error message if this version is not supported, or undefined. */
export function versionProblem(version: string, program: string): string | undefined {
  if (!isOlder(version, OLDEST_SERVER)) return undefined
  return (
    `${program} is Winnow ${version}, but this extension needs ${OLDEST_SERVER} or newer.` +
    ' Upgrade or remove it.'
  )
}

/** Return true if a version is older than another. */
export function isOlder(version: string, than: string): boolean {
  const [left, right] = [numbers(version), numbers(than)]
  for (let index = 0; index < 3; index++) {
    const difference = (left[index] ?? 0) - (right[index] ?? 0)
    if (difference) return difference < 0
  }
  return false
}

function numbers(version: string): number[] {
  return version.split('.').map((part) => Number.parseInt(part, 10) || 0)
}
