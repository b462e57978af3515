/** Whether a server is one that this client can speak to. */

/** The first version with every request that this client sends. */
export const OLDEST_SERVER = '0.1.0'

/** The version in what `winnow --version` prints; undefined if this is another program. */
export function versionIn(output: string): string | undefined {
  return /^winnow (\d+\.\d+\.\d+\S*)\s*$/m.exec(output)?.[1]
}

/** Why a server of this version cannot be used, and what to do; undefined if it can. */
export function problemWith(version: string, program: string): string | undefined {
  if (!isOlder(version, OLDEST_SERVER)) return undefined
  return (
    `${program} is Winnow ${version}, and this extension needs ${OLDEST_SERVER} or newer:` +
    ' upgrade it with "pip install --upgrade winnow-ls"'
  )
}

function isOlder(version: string, than: string): boolean {
  const [one, other] = [numbers(version), numbers(than)]
  for (let place = 0; place < 3; place++) {
    const difference = (one[place] ?? 0) - (other[place] ?? 0)
    if (difference) return difference < 0
  }
  return false
}

function numbers(version: string): number[] {
  return version.split('.').map((part) => Number.parseInt(part, 10) || 0)
}
