/** Convert places in files from the server's format to the editor's. */

import type { Located } from './protocol'

/** A line of a file or of a document's text. Without a line, the entire file. */
export interface Place {
  /** A `file:`, `winnow-doc:` or `winnow:` URI, or an absolute path. */
  readonly target: string
  readonly line?: number | undefined
  /** The start and exclusive end column, 1-based, in code points. */
  readonly columns?: readonly [number, number] | undefined
  /** Texts that find the line again after a change of the file, the best first. */
  readonly texts?: readonly string[]
}

/** The scheme of files in the search cluster: `winnow:///team/project@commit:/src/a.py`. */
export const REPOSITORY_SCHEME = 'winnow'

/** A file of a repository in the search cluster. */
export interface RepositoryFile {
  readonly repository: string
  readonly commit: string
  readonly path: string
}

/** Return the absolute path of a hit, its URI if the path is not Unicode, or one in the cluster. */
export function targetOf(hit: Located, root: string): string {
  if (hit.uri) return hit.uri
  if (hit.repository) {
    const path = encodeURI(`/${hit.repository}@${hit.commit ?? ''}:/${hit.path}`)
    return `${REPOSITORY_SCHEME}://${path.replace(/[?#]/g, encodeURIComponent)}`
  }
  const base = hit.root ?? root
  return base.endsWith('/') || base.endsWith('\\') ? base + hit.path : `${base}/${hit.path}`
}

/** Return the file that the path of a URI names; a repository's name may contain the name of a branch after `@`. */
export function repositoryFile(path: string): RepositoryFile | undefined {
  const [, repository, commit, file] = /^\/([^:]+)@([^@:]*):\/(.+)$/s.exec(path) ?? []
  return repository && file ? { repository, commit: commit ?? '', path: file } : undefined
}

/** Convert a 1-based column in code points to an offset in UTF-16 units. */
export function offsetOfColumn(text: string, column: number): number {
  let offset = 0
  for (let left = column - 1; left > 0 && offset < text.length; left--) {
    offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1
  }
  return offset
}

/** Return what finds a line again by its text, of which "…" replaces the ends of a long one. */
export function textsOf(...texts: readonly (string | undefined)[]): string[] {
  return texts.map((text = '') => text.trim().replace(/^…|…$/g, '')).filter(Boolean)
}

/**
 * Return the current line of a place: its own or, if the file has changed since the search, the nearest one with the
 * same text. `textAt` returns the text of a line, from 1 to `count`.
 */
export function currentLine({ line = 1, texts = [] }: Place, count: number, textAt: (line: number) => string): number {
  const own = Math.max(1, Math.min(line, count))
  if (texts.some((text) => textAt(own).includes(text))) return own
  for (const text of texts) {
    for (let distance = 1; distance < count; distance++) {
      const near = [own - distance, own + distance].find((other) => other > 0 && other <= count && textAt(other).includes(text))
      if (near) return near
    }
  }
  return own
}

/** Identify the file of a hit. */
export function keyOf(hit: Located): string {
  return `${hit.repository ?? hit.root ?? ''}\0${hit.path}`
}

/** Return the path to display: it starts with the folder's name if the workspace has several, or with the repository. */
export function displayPath(hit: Located): string {
  if (hit.repository) return `${hit.repository}:${hit.path}`
  const name = hit.root?.split(/[\\/]/).filter(Boolean).at(-1)
  return name ? `${name}/${hit.path}` : hit.path
}

/** Split a displayed path into the name of the file and the folder before it, perhaps of a repository. */
export function splitPath({ path, shown }: { path: string; shown: string }): { name: string; folder: string } {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return { name, folder: shown.slice(0, shown.length - name.length).replace(/\/$/, '') }
}
