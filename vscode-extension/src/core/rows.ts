/** Convert hits of every search mode to rows of a list. */

import { displayPath, type Place, splitPath, targetOf } from './places'
import type {
  CodeHit,
  DocumentMatch,
  DocumentMatches,
  FoundSymbol,
  GrepMatch,
  Match,
  Passage,
  RankedFile,
} from './protocol'

export interface Row {
  /** Identifies the hit across partial results and the final result. */
  readonly key: string
  readonly label: string
  readonly description: string
  /** The second line. */
  readonly detail: string
  readonly place: Place
  /** The path from the answer, for `$/feedback`. */
  readonly path: string
  readonly displayPath: string
  /** The URI of the original document if `place` is in its extracted text. */
  readonly document?: string
  /** Matching lines of the file, for the results view. */
  readonly lines: readonly Line[]
}

export interface Line {
  readonly text: string
  readonly place: Place
}

/** Longer texts are cut because a list shows one line. */
const MAX_CHARACTERS = 300

export function oneLine(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}…` : line
}

export function rowOfFile(file: RankedFile, root: string): Row {
  const { name, folder } = splitPath(displayPath(file))
  const target = file.preview_uri ?? targetOf(file, root)
  const lines = file.matches.map((match) => lineOfMatch(match, target))
  const line = file.line ?? lines[0]?.place.line ?? file.passage?.start_line
  const best = lines.find((candidate) => candidate.place.line === line)
  const source = file.by ? ' · found by the index' : ''
  return {
    key: `${file.root ?? ''}\0${file.path}`,
    label: line ? `${name}:${line}` : name,
    description: folder + source,
    detail: [file.reason, file.line_text ?? ''].map(oneLine).filter(Boolean).join(' — '),
    place: { target, line, columns: best?.place.columns },
    path: file.path,
    displayPath: displayPath(file),
    lines,
  }
}

function lineOfMatch(match: Match, target: string): Line {
  const place = { target: withoutLine(target), line: match.line, columns: match.match_range }
  return { text: oneLine(match.text), place }
}

export function rowOfGrep(match: GrepMatch, root: string): Row {
  const { name, folder } = splitPath(displayPath(match))
  const matchLine = match.preview.find((line) => line.line === match.line) ?? match.preview[0]
  const columns = match.end_line && match.end_line > match.line ? undefined : match.match_range
  const place = { target: targetOf(match, root), line: match.line, columns }
  return {
    key: `${match.root ?? ''}\0${match.path}\0${match.line}:${match.column}`,
    label: oneLine(matchLine?.text ?? ''),
    description: '',
    // Not in `description`: a long line would hide it.
    detail: `${name}:${match.line}${folder && `  ${folder}`}`,
    place,
    path: match.path,
    displayPath: displayPath(match),
    lines: [],
  }
}

const SYMBOL_ICONS: Record<string, string> = {
  class: 'symbol-class', const: 'symbol-constant', constant: 'symbol-constant',
  constructor: 'symbol-constructor', enum: 'symbol-enum', enum_member: 'symbol-enum-member',
  event: 'symbol-event', field: 'symbol-field', function: 'symbol-function',
  interface: 'symbol-interface', macro: 'symbol-constant', method: 'symbol-method',
  module: 'symbol-module', namespace: 'symbol-namespace', object: 'symbol-object',
  operator: 'symbol-operator', property: 'symbol-property', struct: 'symbol-struct',
  trait: 'symbol-interface', type: 'symbol-type-parameter', variable: 'symbol-variable',
}

export function rowOfSymbol(symbol: FoundSymbol, root: string): Row {
  const target = targetOf(symbol, root)
  const last = symbol.column + [...symbol.name].length
  const place: Place = { target, line: symbol.line, columns: [symbol.column, last] }
  const category = symbol.place ? ` · ${symbol.place}` : ''
  return {
    key: `${symbol.root ?? ''}\0${symbol.path}\0${symbol.line}:${symbol.column}`,
    label: `$(${SYMBOL_ICONS[symbol.kind] ?? 'symbol-misc'}) ${symbol.qualified_name}`,
    description: `${displayPath(symbol)}:${symbol.line}${category}`,
    detail: oneLine(symbol.signature ?? symbol.doc ?? ''),
    place,
    path: symbol.path,
    displayPath: displayPath(symbol),
    lines: [],
  }
}

export function rowOfPassage(passage: Passage, root: string): Row {
  return rowOfLines(passage, root, passage.start_line, passage.why)
}

export function rowOfCode(hit: CodeHit, root: string): Row {
  const count = hit.matches && hit.matches > 1 ? `${hit.matches} matching lines` : undefined
  const why = [hit.why, count].filter(Boolean).join(' · ')
  return rowOfLines(hit, root, hit.line, why)
}

/** Convert lines of a file. The row shows the best of them and opens there. */
function rowOfLines(
  hit: Passage | CodeHit,
  root: string,
  first: number | undefined,
  why: string,
): Row {
  const { name, folder } = splitPath(displayPath(hit))
  const line = hit.best_line ?? first
  const shown = hit.snippet?.split('\n') ?? []
  const best = shown[(line ?? 1) - (hit.snippet_line ?? first ?? 1)]
  const text = oneLine(best?.trim() ? best : (shown.find((one) => one.trim()) ?? ''))
  return {
    key: `${hit.root ?? ''}\0${hit.path}\0${first ?? ''}`,
    label: (line ? `${name}:${line}` : name) + (hit.symbol ? `  ${hit.symbol}` : ''),
    description: folder,
    detail: [text, why].filter(Boolean).join(' — '),
    place: { target: targetOf(hit, root), line },
    path: hit.path,
    displayPath: displayPath(hit),
    lines: [],
  }
}

export function rowsOfDocument(document: DocumentMatches): Row[] {
  const { name, folder } = splitPath(displayPath(document))
  return document.matches.map((match) => ({
    key: `${document.root ?? ''}\0${document.path}\0${match.line}`,
    label: oneLine(match.text),
    description: '',
    detail: [name, whereInDocument(match), folder].filter(Boolean).join(' · '),
    place: {
      target: withoutLine(match.preview_uri),
      line: match.line,
      columns: match.match_range,
    },
    path: document.path,
    displayPath: displayPath(document),
    document: match.open_uri,
    lines: [],
  }))
}

/** Return the location in a document: page, slide, sheet and so on. */
export function whereInDocument(match: Match & Partial<DocumentMatch>): string {
  const parts = [
    match.member,
    match.page && `page ${match.page}`,
    match.slide && `slide ${match.slide}`,
    match.sheet && `sheet ${match.sheet}`,
    match.cell,
    !match.page && match.section,
  ]
  return parts.filter(Boolean).join(', ')
}

/** Remove the line from a document's URI: the editor opens one text document for all its lines. */
export function withoutLine(uri: string): string {
  return uri.replace(/#L\d+$/, '')
}
