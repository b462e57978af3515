/** The kinds of search: the request of each, and how it shows the answer. */

import { Appending, type Collector, Ranking } from './collect'
import * as headlines from './headline'
import type { Headline } from './headline'
import * as protocol from './protocol'
import { type Kind, parseQuery, pattern, type Query } from './query'
import {
  oneLine,
  type Row,
  rowOfCode,
  rowOfFile,
  rowOfGrep,
  rowOfNotChosen,
  rowOfSymbol,
  rowsOfDocument,
} from './rows'

/** What a request needs in addition to the query. */
export interface Choices {
  /** Globs of files to exclude. */
  readonly exclude: readonly string[]
  /** The changed files, if the query asks for them. */
  readonly changed: readonly string[]
  /** True to let a language model rank. */
  readonly asksModel: boolean
  /** The only model to ask; by default the server's choice. */
  readonly model?: string | undefined
}

export interface SearchKind<P extends object, R extends protocol.SearchAnswer, Partial> {
  readonly icon: string
  readonly request: protocol.ServerRequest<P, R, Partial>
  /** True if partial results are added to the list as they arrive. */
  readonly streams: boolean
  params(query: Query, choices: Choices): P
  collector(root: string): Collector<Partial, R>
  headline(result: R): Headline
  /** Return true if a language model could improve the order. */
  canAsk(result: R): boolean
}

/** Any kind, for code that uses only what all kinds share. */
// biome-ignore lint: the three types depend on each other only inside a kind
export type AnyKind = SearchKind<any, any, any>

const kind = <P extends object, R extends protocol.SearchAnswer, Partial>(
  definition: SearchKind<P, R, Partial>,
): SearchKind<P, R, Partial> => definition

const never = (): boolean => false

function scope(query: Query, { exclude, changed }: Choices): protocol.ScopeParams {
  return {
    exclude: [...exclude],
    ...(query.types.length ? { file_types: [...query.types] } : {}),
    ...(query.folder ? { path: query.folder } : {}),
    ...(query.isChanged ? { include: changed.map(literalGlob) } : {}),
  }
}

/** Search no repositories of the cluster: its texts are not sent to models, and it has no changed files. */
function repositories({ isChanged }: Query, { asksModel }: Choices): { repositories?: string[] } {
  return isChanged || asksModel ? { repositories: [] } : {}
}

function ranker({ asksModel, model }: Choices): { ranker: 'auto' | 'local'; model?: string } {
  return { ranker: asksModel ? 'auto' : 'local', ...(model ? { model } : {}) }
}

function fileScope(query: Query, choices: Choices): protocol.ScopeParams {
  const ignored = query.isIgnored ? { include_ignored: true, include_hidden: true } : {}
  return { ...scope(query, choices), ...ignored }
}

/** Return a glob that matches only this path. */
function literalGlob(path: string): string {
  return `/${path.replace(/[*?[\]{}]/g, '[$&]')}`
}

const ANY = kind({
  icon: 'search',
  request: protocol.codeSearch,
  streams: false,
  params: (query, choices) => ({
    query: query.words,
    limit: 50,
    ...ranker(choices),
    ...scope(query, choices),
    ...repositories(query, choices),
  }),
  collector: (root) =>
    new Ranking<protocol.CodeSearchPartial, protocol.CodeSearchResult>(root, {
      rows: ({ results }, base) => results.map((hit) => rowOfCode(hit, base)),
      // The list already has them: a model sees only places of the local order.
      others: () => [],
    }),
  headline: headlines.ofCode,
  // A name or a path needs no model.
  canAsk: ({ search_type_used: used }) => used === 'semantic' || used === 'text',
})

const TERMS = kind({
  icon: 'list-ordered',
  request: protocol.keywordSearch,
  streams: false,
  params: (query, choices) => ({
    query: query.words,
    search_terms: [...query.terms],
    ...ranker(choices),
    // Many files contain a question's words. With less context, such terms are still useful.
    broad_terms: 'shrink' as const,
    ...fileScope(query, choices),
    ...repositories(query, choices),
  }),
  collector: (root) =>
    new Ranking<protocol.KeywordSearchPartial, protocol.KeywordSearchResult>(root, {
      rows: ({ files }, base) => files.map((file) => rowOfFile(file, base)),
      others: ({ not_chosen = [] }, base) => not_chosen.map((file) => rowOfNotChosen(file, base)),
    }),
  headline: headlines.ofKeywordSearch,
  canAsk: () => true,
})

const SYMBOLS = kind({
  icon: 'symbol-class',
  request: protocol.findSymbol,
  streams: false,
  params: (query, choices) => ({
    name: query.words,
    max_results: 100,
    ...scope(query, choices),
    ...repositories(query, choices),
  }),
  collector: (root) =>
    new Appending<{ symbols: protocol.FoundSymbol[] }, protocol.FindSymbolResult>(
      root,
      (value, base) => value.symbols.map((symbol) => rowOfSymbol(symbol, base)),
    ),
  headline: headlines.ofSymbols,
  canAsk: never,
})

const TEXT = kind({
  icon: 'quote',
  request: protocol.grep,
  streams: true,
  params: (query, choices) => ({
    ...pattern(query.words),
    context_lines: 0,
    max_results: 200,
    ...fileScope(query, choices),
    ...repositories(query, choices),
  }),
  collector: (root) =>
    new Appending<{ matches: protocol.GrepMatch[] }, protocol.GrepResult>(root, (value, base) =>
      value.matches.map((match) => rowOfGrep(match, base)),
    ),
  headline: headlines.ofGrep,
  canAsk: never,
})

const DOCUMENTS = kind({
  icon: 'book',
  request: protocol.searchDocs,
  streams: true,
  params: (query, choices) => ({ query: query.words, ...fileScope(query, choices) }),
  collector: (root) =>
    new Appending<{ documents: protocol.DocumentMatches[] }, protocol.SearchDocsResult>(
      root,
      (value) => value.documents.flatMap(rowsOfDocument),
    ),
  headline: headlines.ofDocuments,
  canAsk: never,
})

const KINDS: Record<Kind, AnyKind> = {
  any: ANY,
  symbols: SYMBOLS,
  text: TEXT,
  documents: DOCUMENTS,
  terms: TERMS,
}

/** Return the kind of search for a query. The index has no ignored files, so they are searched as text. */
export function kindOf(query: Query): AnyKind {
  return query.kind === 'any' && query.isIgnored ? TEXT : KINDS[query.kind]
}

/** A finished search, as stored for the results view. */
export interface Search {
  readonly id: number
  /** The typed text. */
  readonly text: string
  readonly rows: readonly Row[]
  readonly chosenCount: number
  readonly headline: Headline
  readonly searchId: string
}

/** Return the title of a search for lists. */
export function searchTitle({ text }: Pick<Search, 'text'>): string {
  return oneLine(text)
}

/** Return the icon of a search for lists. */
export function iconOf(text: string): string {
  return kindOf(parseQuery(text)).icon
}
