/** Group the rows of a search by file. */

import type { Row } from './rows'

export interface FileGroup {
  readonly path: string
  readonly displayPath: string
  /** The first row's target: the file, or the extracted text of a document. */
  readonly target: string
  readonly rows: readonly Row[]
}

/** Return a group for each file, in the order of its best row. */
export function byFile(rows: readonly Row[]): FileGroup[] {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(row.displayPath)
    if (group) group.push(row)
    else groups.set(row.displayPath, [row])
  }
  return [...groups].map(([displayPath, group]) => ({
    path: group[0]?.path ?? '',
    displayPath,
    target: group[0]?.place.target ?? '',
    rows: group,
  }))
}
