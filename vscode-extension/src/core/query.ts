/**
 * Parse and format what is typed into the search box.
 *
 * Everything that narrows a search is part of the text, so it is visible, editable and stored with the
 * history: `>type:py >in:src/app @Client.send`.
 */

/** The request that answers a query. `any` lets the server choose by the words. */
export type Kind = 'any' | 'symbols' | 'text' | 'documents' | 'terms'

export interface Query {
  readonly kind: Kind
  /** The typed text without what narrows the search. */
  readonly words: string
  /** For `terms`: regular expressions, the most important first. Empty to let the server suggest some. */
  readonly terms: readonly string[]
  /** File types of ripgrep, such as `py`. */
  readonly types: readonly string[]
  /** A folder relative to the workspace; empty for all. */
  readonly folder: string
  readonly isChanged: boolean
  readonly isIgnored: boolean
}

export const EMPTY: Query = {
  kind: 'any',
  words: '',
  terms: [],
  types: [],
  folder: '',
  isChanged: false,
  isIgnored: false,
}

/** Shorter queries match too much. */
export const MIN_LETTERS = 2
const PREFIX = /^>(docs|terms|changed|ignored|type:(\S*)|in:("[^"]*"?|\S*))(?:\s+|$)/
const TERMS = ' -- '

const HINTS = [
  ['@', 'symbols: @Client.send'],
  ['"', 'exact text: "permission denied", or /a regular expression/'],
  ['>docs ', 'PDFs, office files, e-books and archives'],
] as const
const PREFIXES = [
  HINTS[2],
  ['>type:', 'files of a type: >type:py,html'],
  ['>in:', 'a folder: >in:src/app'],
  ['>changed ', 'files that differ from the last commit'],
  ['>ignored ', 'ignored and hidden files too, as exact text'],
  ['>terms ', 'terms that you choose, or the server: >terms how is it parsed -- parse, lexer'],
] as const

/** Return what can be typed, with descriptions: examples at first, and prefixes that begin with the text. */
export function hintsFor(text: string): readonly (readonly [prefix: string, description: string])[] {
  if (!text) return HINTS
  return text.startsWith('>') ? PREFIXES.filter(([prefix]) => prefix.startsWith(text) && prefix.trim() !== text) : []
}

/** Return a note about a word that looks like a prefix and is searched for; empty if there is none. */
export function prefixProblem(text: string): string {
  const { words } = parseQuery(text)
  const name = /^>[a-z]+(?=[:\s]|$)/i.exec(words)?.[0]
  const known = PREFIXES.map(([prefix]) => prefix.trim()).join(', ')
  return name ? `“${name}” is searched for as text. The prefixes are ${known}.` : ''
}

export function parseQuery(typed: string): Query {
  let query = EMPTY
  let rest = typed.trim()
  for (let prefix = PREFIX.exec(rest); prefix; prefix = PREFIX.exec(rest)) {
    query = withPrefix(query, prefix)
    rest = rest.slice(prefix[0].length)
  }
  if (query.kind === 'terms') return { ...query, ...splitTerms(rest) }
  if (query.kind === 'documents') return { ...query, words: rest }
  if (rest.startsWith('@')) return { ...query, kind: 'symbols', words: rest.slice(1).trim() }
  const isExact = rest.startsWith('"') || expressionIn(rest) !== undefined
  return { ...query, kind: isExact ? 'text' : 'any', words: isExact ? withoutQuotes(rest) : rest }
}

/** Return the regular expression between slashes. Routes, such as `/api/items/5/`, and comments are not expressions. */
function expressionIn(text: string): string | undefined {
  if (/^(?:\/[\w.:{}<>%-]+){2,}\/$/.test(text)) return undefined
  return /^\/(?![*/])(.+)\/$/.exec(text)?.[1]
}

function withPrefix(query: Query, [, name = '', types = '', folder = '']: RegExpExecArray): Query {
  if (name === 'docs') return { ...query, kind: 'documents' }
  if (name === 'terms') return { ...query, kind: 'terms' }
  if (name === 'changed') return { ...query, isChanged: true }
  if (name === 'ignored') return { ...query, isIgnored: true }
  if (name.startsWith('type:')) return { ...query, types: types.split(',').filter(Boolean) }
  return { ...query, folder: folder.replaceAll('"', '') }
}

function splitTerms(text: string): Pick<Query, 'words' | 'terms'> {
  const at = text.indexOf(TERMS)
  if (at < 0) return { words: text.replace(/ --$/, ''), terms: [] }
  return { words: text.slice(0, at).trim(), terms: termsIn(text.slice(at + TERMS.length)) }
}

/** Remove quotes; the closing one is missing while the user types. */
function withoutQuotes(text: string): string {
  return text.startsWith('"') ? text.slice(1).replace(/"$/, '') : text
}

/** Return the text to type for a query: the inverse of `parseQuery`. */
export function formatQuery(query: Query): string {
  const prefixes = [
    query.kind === 'documents' && '>docs',
    query.kind === 'terms' && '>terms',
    query.isChanged && '>changed',
    query.isIgnored && '>ignored',
    query.types.length > 0 && `>type:${query.types.join(',')}`,
    query.folder && `>in:${/\s/.test(query.folder) ? `"${query.folder}"` : query.folder}`,
  ]
  return [...prefixes.filter(Boolean), formatWords(query)].join(' ')
}

function formatWords({ kind, words, terms }: Query): string {
  if (kind === 'symbols') return `@${words}`
  if (kind === 'text') return expressionIn(words) === undefined ? `"${words}"` : words
  return kind === 'terms' && terms.length ? `${words}${TERMS}${termsText(terms)}` : words
}

/** Return true if the query is long enough to search as the user types. */
export function isSearchable({ words, terms }: Query): boolean {
  return terms.length > 0 || [...words].length >= MIN_LETTERS
}

/** Parse typed terms: commas separate them, and a backslash escapes a comma inside a term. */
export function termsIn(text: string): string[] {
  const terms = text.split(/(?<!\\),/).map((term) => term.replaceAll('\\,', ',').trim())
  return [...new Set(terms.filter(Boolean))]
}

export function termsText(terms: readonly string[]): string {
  return terms.map((term) => term.replaceAll(',', '\\,')).join(', ')
}

/**
 * Convert a typed text to the params of `$/grep`.
 *
 * A text between slashes is a regular expression. Without an upper-case letter, the search ignores
 * case, as in most editors.
 */
export function pattern(text: string): { pattern: string; literal: boolean; case_sensitive: boolean } {
  const expression = expressionIn(text)
  const searched = expression ?? text
  return {
    pattern: searched,
    literal: expression === undefined,
    case_sensitive: /\p{Lu}/u.test(searched),
  }
}
