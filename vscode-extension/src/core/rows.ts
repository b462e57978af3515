/** Convert the hits of every kind of search to rows of a list. */

import { displayPath, keyOf, type Place, splitPath, targetOf, textsOf } from './places'
import type {
  CodeHit,
  DocumentMatch,
  DocumentMatches,
  FoundSymbol,
  GrepMatch,
  Match,
  NotChosen,
  RankedFile,
} from './protocol'

export interface Row {
  /** Identifies the hit across partial results and the final result. */
  readonly key: string
  /** The name of a codicon. */
  readonly icon: string
  /** A name, or a file and line. */
  readonly name: string
  /** The folder or path, and what else tells the hit apart. */
  readonly where: string
  /** The line of code or text; empty if unknown. */
  readonly code: string
  /** Why the hit was found, in a few words; empty if the code says it. */
  readonly reason: string
  readonly place: Place
  /** The path from the answer, for `$/feedback`. */
  readonly path: string
  /** The repository of a file in the search cluster. */
  readonly repository?: string | undefined
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

/** Return the folder to search for more like a row; it names the folder of the workspace if there are several. */
export function folderOf({ displayPath, repository }: Row): string[] {
  const end = displayPath.lastIndexOf('/')
  return end > 0 && !repository ? [displayPath.slice(0, end)] : []
}

/** Longer texts are cut because a list shows one line. */
const MAX_CHARACTERS = 300

export function oneLine(text: string): string {
  const line = text.trim().replace(/\s+/g, ' ')
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}…` : line
}

/** Characters of a line in the box. */
export const MAX_LINE = 84

/** Longer code would hide the reason after it. A short reason leaves more room. */
const MAX_CODE = 52

const BEFORE_REASON = '  —  '

/** Return the second line of a row. It is never empty, so all rows have the same height. */
export function secondLine({ code, reason, displayPath }: Row): string {
  if (!code || !reason) return code || reason || displayPath
  const room = Math.max(MAX_CODE, MAX_LINE - BEFORE_REASON.length - reason.length)
  return `${code.length > room ? `${code.slice(0, room - 1)}…` : code}${BEFORE_REASON}${reason}`
}

export function rowOfFile(file: RankedFile, root: string): Row {
  const { name, folder } = splitPath({ path: file.path, shown: displayPath(file) })
  const target = file.preview_uri ?? targetOf(file, root)
  const lines = file.matches.map((match) => lineOfMatch(match, target))
  const line = file.line ?? lines[0]?.place.line ?? file.passage?.start_line
  const best = lines.find((candidate) => candidate.place.line === line)
  return {
    key: keyOf(file),
    icon: PASSAGE,
    name: line ? `${name}:${line}` : name,
    where: folder,
    code: oneLine(file.line_text ?? best?.text ?? ''),
    reason: oneLine(file.reason),
    place: { target, line, columns: best?.place.columns, texts: textsOf(file.line_text ?? best?.place.texts?.[0]) },
    path: file.path,
    repository: file.repository,
    displayPath: displayPath(file),
    lines,
  }
}

/** Convert a file that a model saw and didn't choose. */
export function rowOfNotChosen(file: NotChosen, root: string): Row {
  return rowOfFile({ ...file, reason: '', terms: [], matches: [] }, root)
}

function lineOfMatch(match: Match, target: string): Line {
  const place = { target: withoutLine(target), line: match.line, columns: match.match_range, texts: textsOf(match.text) }
  return { text: oneLine(match.text), place }
}

/** Convert a match. Only the first one of a line has its text, so a line is one row. */
export function rowOfGrep(match: GrepMatch, root: string): Row {
  const { name, folder } = splitPath({ path: match.path, shown: displayPath(match) })
  const matchLine = match.preview.find((line) => line.line === match.line) ?? match.preview[0]
  const columns = match.end_line && match.end_line > match.line ? undefined : match.match_range
  return {
    key: `${keyOf(match)}\0${match.line}`,
    icon: PASSAGE,
    name: `${name}:${match.line}`,
    where: folder,
    code: aroundMatch(matchLine?.text ?? '', (match.match_range[0] ?? 1) - (matchLine?.text_column ?? 1)),
    reason: '',
    place: { target: targetOf(match, root), line: match.line, columns, texts: textsOf(matchLine?.text) },
    path: match.path,
    repository: match.repository,
    displayPath: displayPath(match),
    lines: [],
  }
}

/** Characters before a match in a long line. */
const BEFORE_MATCH = 24

/** Cut the start of a long line, so that the match is in sight. */
function aroundMatch(text: string, match: number): string {
  const start = match - BEFORE_MATCH
  if (match < MAX_CODE || start <= 0) return oneLine(text)
  // Without the rest of a word, unless that is the match's.
  const rest = /(?<=\w)\w*/y
  rest.lastIndex = start
  const end = start + (rest.exec(text)?.[0].length ?? 0)
  return oneLine(`…${text.slice(end < match ? end : start)}`)
}

const FILE = 'file'
const PASSAGE = 'list-selection'

const SYMBOL_ICONS: Record<string, string> = {
  class: 'symbol-class', const: 'symbol-constant', constant: 'symbol-constant',
  constructor: 'symbol-constructor', enum: 'symbol-enum', enum_member: 'symbol-enum-member',
  event: 'symbol-event', field: 'symbol-field', function: 'symbol-function',
  interface: 'symbol-interface', macro: 'symbol-constant', method: 'symbol-method',
  module: 'symbol-module', namespace: 'symbol-namespace', object: 'symbol-object',
  operator: 'symbol-operator', property: 'symbol-property', struct: 'symbol-struct',
  trait: 'symbol-interface', type: 'symbol-type-parameter', variable: 'symbol-variable',
}

function symbolIcon(kind: string): string {
  return SYMBOL_ICONS[kind] ?? 'symbol-misc'
}

export function rowOfSymbol(symbol: FoundSymbol, root: string): Row {
  const { name, folder } = splitPath({ path: symbol.path, shown: displayPath(symbol) })
  const last = symbol.column + [...symbol.name].length
  return {
    key: `${keyOf(symbol)}\0${symbol.line}:${symbol.column}`,
    icon: symbolIcon(symbol.kind),
    name: symbol.qualified_name,
    where: [folder, `${name}:${symbol.line}`].filter(Boolean).join('/'),
    code: oneLine(symbol.signature ?? ''),
    reason: [symbol.kind.replaceAll('_', ' '), symbol.place && `in ${symbol.place === 'example' ? 'an' : 'a'} ${symbol.place} file`].filter(Boolean).join(' '),
    place: {
      target: targetOf(symbol, root),
      line: symbol.line,
      columns: [symbol.column, last],
      // A signature may have several lines.
      texts: textsOf(symbol.signature, symbol.name),
    },
    path: symbol.path,
    repository: symbol.repository,
    displayPath: displayPath(symbol),
    lines: [],
  }
}

/** Convert a place in code. The row shows its best line and opens there. */
export function rowOfCode(hit: CodeHit, root: string): Row {
  const { name, folder } = splitPath({ path: hit.path, shown: displayPath(hit) })
  const line = hit.best_line ?? hit.line
  const inFile = line ? `${name}:${line}` : name
  const isDefinition = hit.kind === 'definition'
  const text = lineOfSnippet(hit, line)
  return {
    key: `${keyOf(hit)}\0${hit.line ?? ''}`,
    icon: iconOfHit(hit),
    name: isDefinition && hit.symbol ? hit.symbol : inFile,
    where: isDefinition ? [folder, inFile].filter(Boolean).join('/') : [folder, hit.symbol].filter(Boolean).join('  '),
    code: oneLine(text || (hit.snippet?.split('\n').find((other) => other.trim()) ?? '')),
    reason: reasonOf(hit),
    place: { target: targetOf(hit, root), line, texts: textsOf(text) },
    path: hit.path,
    repository: hit.repository,
    displayPath: displayPath(hit),
    lines: [],
  }
}

function iconOfHit(hit: CodeHit): string {
  if (hit.why && FRAME.test(hit.why)) return 'debug-stackframe'
  if (hit.kind === 'definition') return symbolIcon(/^\w+/.exec(hit.why ?? '')?.[0] ?? '')
  return hit.kind === 'file' ? FILE : PASSAGE
}

function lineOfSnippet(hit: CodeHit, line = 1): string {
  return hit.snippet?.split('\n')[line - (hit.snippet_line ?? hit.line ?? 1)]?.trim() ?? ''
}

/** A reason of more characters is cut to its first clause. */
const MAX_REASON = 48

/** The reason of a place that a stack trace names, and its function, which the row shows. */
const FRAME = /^frame \d+ of the stack trace/

function reasonOf(hit: CodeHit): string {
  const frame = FRAME.exec(hit.why ?? '')
  if (frame) return frame[0]
  // The server says the kind of the symbol, which the icon and the code show.
  if (hit.kind === 'definition') return `definition${hit.why?.replace(/^\w+( \w+)?(?=$| in )/, '') ?? ''}`
  const count = hit.matches && hit.matches > 1 ? `${hit.matches} matching lines` : ''
  const why = hit.why ?? (count || (hit.kind === 'file' ? 'file name matches' : ''))
  const [first = '', ...others] = why.split('; ')
  // The row shows what it defines.
  const isShown = others.length > 0 && first === `defines ${hit.symbol?.split('.').at(-1)}`
  const telling = isShown ? others : [first, ...others]
  const reason = telling.join('; ')
  return oneLine(reason.length > MAX_REASON ? (telling[0] ?? reason) : reason)
}

export function rowsOfDocument(document: DocumentMatches): Row[] {
  const { name, folder } = splitPath({ path: document.path, shown: displayPath(document) })
  // Its lines are those of the file.
  const isText = document.format === 'text'
  return document.matches.map((match) => ({
    key: `${keyOf(document)}\0${match.line}`,
    icon: 'book',
    name: isText ? `${name}:${match.line}` : [name, whereInDocument(match)].filter(Boolean).join(' · '),
    where: folder,
    code: oneLine(match.text),
    reason: '',
    place: {
      target: isText ? match.open_uri : withoutLine(match.preview_uri),
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
