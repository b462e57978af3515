/** The search modes: the request each sends and how it displays the answer. */

import { Appending, type Collector, Ranking } from './collect'
import * as headlines from './headline'
import * as protocol from './protocol'
import type { Headline } from './headline'
import {
  oneLine,
  type Row,
  rowOfCode,
  rowOfGrep,
  rowOfPassage,
  rowOfSymbol,
  rowsOfDocument,
} from './rows'

/** The user's choices for a search, in addition to the query. */
export interface Choices {
  readonly terms: readonly string[]
  readonly exclude: readonly string[]
  readonly ignored: boolean
}

export interface Mode<P extends object, R extends protocol.SearchAnswer, Partial> {
  readonly id: string
  readonly title: string
  readonly icon: string
  readonly description: string
  readonly placeholder: string
  /** True if the mode searches as the user types. */
  readonly live: boolean
  /** True if the mode can include ignored and hidden files. */
  readonly scoped: boolean
  readonly request: protocol.ServerRequest<P, R, Partial>
  params(query: string, choices: Choices): P
  collector(root: string): Collector<Partial, R>
  headline(result: R): Headline
}

/** Any mode, for code that uses only what all modes share. */
// biome-ignore lint: the three types depend on each other only inside a mode
export type AnyMode = Mode<any, any, any>

const mode = <P extends object, R extends protocol.SearchAnswer, Partial>(
  definition: Mode<P, R, Partial>,
): Mode<P, R, Partial> => definition

function scope(choices: Choices): protocol.ScopeParams {
  const hidden = choices.ignored ? { include_ignored: true, include_hidden: true } : {}
  return { exclude: [...choices.exclude], ...hidden }
}

export const KEYWORD = mode({
  id: 'keyword',
  title: 'Keyword Search',
  icon: 'search',
  description: 'files ranked for a question, with reasons',
  placeholder: 'What are you looking for? Include names the code might use',
  live: false,
  scoped: true,
  request: protocol.keywordSearch,
  params: (query, choices) => ({
    query,
    search_terms: [...choices.terms],
    // Many files contain a question's words. With less context, such terms are still useful.
    broad_terms: 'shrink' as const,
    ...scope(choices),
  }),
  collector: (root) => new Ranking(root),
  headline: headlines.ofKeywordSearch,
})

export const DOCUMENTS = mode({
  id: 'documents',
  title: 'Search Documents',
  icon: 'book',
  description: 'lines of PDFs, office files, e-books and archives',
  placeholder: 'Text or a regular expression to find in documents',
  live: false,
  scoped: true,
  request: protocol.searchDocs,
  params: (query, choices) => ({ query, ...scope(choices) }),
  collector: (root) =>
    new Appending<{ documents: protocol.DocumentMatches[] }, protocol.SearchDocsResult>(
      root,
      (value) => value.documents.flatMap(rowsOfDocument),
    ),
  headline: headlines.ofDocuments,
})

export const SYMBOLS = mode({
  id: 'symbols',
  title: 'Search Symbols',
  icon: 'symbol-class',
  description: 'definitions by name, in all languages',
  placeholder: 'A name, part of a name, Client.send or initials',
  live: true,
  scoped: false,
  request: protocol.findSymbol,
  params: (query, { exclude }) => ({ name: query, max_results: 100, exclude: [...exclude] }),
  collector: (root) =>
    new Appending<{ symbols: protocol.FoundSymbol[] }, protocol.FindSymbolResult>(
      root,
      (value, base) => value.symbols.map((symbol) => rowOfSymbol(symbol, base)),
    ),
  headline: headlines.ofSymbols,
})

export const TEXT = mode({
  id: 'text',
  title: 'Search Text',
  icon: 'regex',
  description: 'exact text, or /a regular expression/',
  placeholder: 'Text to find, or /a regular expression/',
  live: true,
  scoped: true,
  request: protocol.grep,
  params: (query, choices) => ({ ...pattern(query), context_lines: 0, max_results: 200, ...scope(choices) }),
  collector: (root) =>
    new Appending<{ matches: protocol.GrepMatch[] }, protocol.GrepResult>(root, (value, base) =>
      value.matches.map((match) => rowOfGrep(match, base)),
    ),
  headline: headlines.ofGrep,
})

export const SEMANTIC = mode({
  id: 'semantic',
  title: 'Semantic Search',
  icon: 'lightbulb',
  description: 'passages that answer a question, without a model',
  placeholder: 'Describe what the code does, in plain words',
  live: false,
  scoped: false,
  request: protocol.semanticSearch,
  params: (query, { exclude }) => ({ query, top_k: 30, exclude: [...exclude] }),
  collector: (root) =>
    new Appending<{ results: protocol.Passage[] }, protocol.SemanticSearchResult>(
      root,
      (value, base) => value.results.map((passage) => rowOfPassage(passage, base)),
    ),
  headline: headlines.ofSemantic,
})

export const CODE = mode({
  id: 'code',
  title: 'Code Search',
  icon: 'code',
  description: 'one query for files, symbols, text and questions',
  placeholder: 'A question, a name, a file, "text in quotes", or a regular expression',
  live: false,
  scoped: false,
  request: protocol.codeSearch,
  params: (query, { exclude }) => ({ query, limit: 50, exclude: [...exclude] }),
  collector: (root) =>
    new Appending<{ results: protocol.CodeHit[] }, protocol.CodeSearchResult>(
      root,
      (value, base) => value.results.map((hit) => rowOfCode(hit, base)),
    ),
  headline: headlines.ofCode,
})

export const MODES: readonly AnyMode[] = [KEYWORD, CODE, TEXT, SYMBOLS, SEMANTIC, DOCUMENTS]

/**
 * Convert a typed query to the params of `$/grep`.
 *
 * A query between slashes is a regular expression. Without an upper-case letter, the search ignores
 * case, as in most editors.
 */
export function pattern(query: string): { pattern: string; literal: boolean; case_sensitive: boolean } {
  const expression = /^\/(.+)\/$/.exec(query)?.[1]
  const text = expression ?? query
  return { pattern: text, literal: expression === undefined, case_sensitive: /\p{Lu}/u.test(text) }
}

/** A finished search, as stored for the results view. */
export interface Search {
  readonly id: number
  readonly mode: AnyMode
  readonly query: string
  readonly terms: readonly string[]
  readonly rows: readonly Row[]
  readonly chosenCount: number
  readonly headline: Headline
  readonly searchId: string
}

/** Return the title of a search for lists. */
export function searchTitle(search: Pick<Search, 'mode' | 'query'>): string {
  return `${search.mode.title}: ${oneLine(search.query)}`
}

/** Parse typed terms: commas separate them, and a backslash escapes a comma inside a term. */
export function termsIn(text: string): string[] {
  const terms = text.split(/(?<!\\),/).map((term) => term.replaceAll('\\,', ',').trim())
  return [...new Set(terms.filter(Boolean))]
}

export function termsText(terms: readonly string[]): string {
  return terms.map((term) => term.replaceAll(',', '\\,')).join(', ')
}
