/** Convert places in files from the server's format to the editor's. */

import type { Located } from './protocol'

/** A line of a file or of a document's text. Without a line, the entire file. */
export interface Place {
  /** A `file:` or `winnow-doc:` URI, or an absolute path. */
  readonly target: string
  readonly line?: number | undefined
  /** The start and exclusive end column, 1-based, in code points. */
  readonly columns?: readonly [number, number] | undefined
}

/** Return the absolute path of a hit, or its URI if the path is not Unicode. */
export function targetOf(hit: Located, root: string): string {
  if (hit.uri) return hit.uri
  const base = hit.root ?? root
  return base.endsWith('/') || base.endsWith('\\') ? base + hit.path : `${base}/${hit.path}`
}

/** Convert a 1-based column in code points to an offset in UTF-16 units. */
export function offsetOfColumn(text: string, column: number): number {
  let offset = 0
  for (let left = column - 1; left > 0 && offset < text.length; left--) {
    offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1
  }
  return offset
}

/** Return the path to display: it starts with the folder's name if the workspace has several. */
export function displayPath(hit: Located): string {
  const name = hit.root?.split(/[\\/]/).filter(Boolean).at(-1)
  return name ? `${name}/${hit.path}` : hit.path
}

/** Split a path relative to a root, with `/`, into its name and folder. */
export function splitPath(path: string): { name: string; folder: string } {
  const end = path.lastIndexOf('/')
  return { name: path.slice(end + 1), folder: path.slice(0, Math.max(end, 0)) }
}
