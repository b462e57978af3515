/** Places in files: how the server names them, and how an editor counts them. */

import type { Located } from './protocol'

/** A line of a file or of a document's text; without a line, the file as a whole. */
export interface Place {
  /** A `file:` or `winnow-doc:` URI, or an absolute path. */
  readonly target: string
  readonly line?: number | undefined
  /** First column and the column behind the last: 1-based, in code points. */
  readonly columns?: readonly [number, number] | undefined
}

/** The absolute path of a hit, or its URI where the path is no Unicode. */
export function targetOf(hit: Located, root: string): string {
  if (hit.uri) return hit.uri
  const base = hit.root ?? root
  return base.endsWith('/') || base.endsWith('\\') ? base + hit.path : `${base}/${hit.path}`
}

/** An index into a string, in UTF-16 units, of a 1-based column in code points. */
export function offsetOfColumn(text: string, column: number): number {
  let offset = 0
  for (let left = column - 1; left > 0 && offset < text.length; left--) {
    offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1
  }
  return offset
}

/** The path of a hit for a person: with the name of its folder where the workspace has several. */
export function shownPath(hit: Located): string {
  const name = hit.root?.split(/[\\/]/).filter(Boolean).at(-1)
  return name ? `${name}/${hit.path}` : hit.path
}

/** The name and the folder of a path that is relative to a root, with `/`. */
export function splitPath(path: string): { name: string; folder: string } {
  const end = path.lastIndexOf('/')
  return { name: path.slice(end + 1), folder: path.slice(0, Math.max(end, 0)) }
}
