import * as vscode from 'vscode'

import { Ranking, type ResultList } from './core/collect'
import { type Headline, withoutResults } from './core/headline'
import { kindOf } from './core/kinds'
import { changedFiles, type SearchAnswer, suggestTerms } from './core/protocol'
import { formatQuery, parseQuery, type Query } from './core/query'
import type { Row } from './core/rows'
import type { Server } from './server'
import { editorExcludes } from './settings'

const NONE = new vscode.CancellationTokenSource().token
/** The server accepts at most 100 globs. */
const MAX_CHANGED = 100

export interface Found {
  readonly list: ResultList
  readonly headline: Headline
  readonly searchId: string
  /** True if a language model could improve the order. */
  readonly canAsk: boolean
}

const NOTHING_CHANGED: Found = {
  list: { rows: [], chosenCount: 0 },
  headline: withoutResults('No file differs from the last commit.'),
  searchId: '',
  canAsk: false,
}

/** Runs one search at a time: a new one cancels the one before. */
export class Searcher {
  private running: vscode.CancellationTokenSource | undefined

  constructor(private readonly server: Server) {}

  get isRunning(): boolean {
    return this.running !== undefined
  }

  /** Search on this machine. Return undefined if another search replaced this one. */
  search(typed: string, onList: (list: ResultList) => void): Promise<Found | undefined> {
    return this.run(typed, onList)
  }

  /** Let a language model rank rows of an earlier answer: only this one, if it is named. */
  ask(
    typed: string,
    rows: readonly Row[],
    onList: (list: ResultList) => void,
    model?: string,
  ): Promise<Found | undefined> {
    return this.run(typed, onList, { rows, model })
  }

  /** Cancel the running search. The server kills the processes it started for it. */
  cancel(): void {
    this.running?.cancel()
    this.running?.dispose()
    this.running = undefined
  }

  /** Return the text with suggested terms, for the user to change. */
  async withTerms(typed: string): Promise<string> {
    const query = await this.withSuggestedTerms({ ...parseQuery(typed), kind: 'terms' })
    return formatQuery(query)
  }

  private async run(
    typed: string,
    onList: (list: ResultList) => void,
    asked?: { readonly rows: readonly Row[]; readonly model: string | undefined },
  ): Promise<Found | undefined> {
    this.cancel()
    const running = new vscode.CancellationTokenSource()
    this.running = running
    const isCurrent = () => this.running === running
    try {
      const query = await this.completed(parseQuery(typed))
      const kind = kindOf(query)
      const changed = query.isChanged ? await this.changed(running.token) : []
      if (!isCurrent()) return undefined
      if (query.isChanged && !changed.length) {
        this.running = undefined
        return NOTHING_CHANGED
      }
      await this.server.ensureStarted()
      if (!isCurrent()) return undefined
      const collector = kind.collector(this.server.root)
      if (asked && collector instanceof Ranking) collector.start(asked.rows)
      const onPartial = (value: unknown) => {
        if (!isCurrent()) return
        collector.partial(value)
        onList(collector.list())
      }
      const result: SearchAnswer = await this.server.request(
        kind.request,
        kind.params(query, { exclude: editorExcludes(), changed, asksModel: asked !== undefined, model: asked?.model }),
        running.token,
        kind.streams || asked ? onPartial : undefined,
      )
      if (!isCurrent()) return undefined
      this.running = undefined
      collector.result(result)
      return {
        list: collector.list(),
        headline: kind.headline(result),
        searchId: result.search_id,
        canAsk: kind.canAsk(result),
      }
    } catch (error) {
      if (!isCurrent() || error instanceof vscode.CancellationError) return undefined
      this.running = undefined
      throw error
    }
  }

  private async completed(query: Query): Promise<Query> {
    return query.kind === 'terms' && !query.terms.length ? this.withSuggestedTerms(query) : query
  }

  private async withSuggestedTerms(query: Query): Promise<Query> {
    if (!query.words) return query
    const { terms } = await this.server.request(suggestTerms, { query: query.words }, NONE)
    // A query of punctuation has no suggested terms: search for it literally.
    const literal = query.words.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    return { ...query, terms: terms.length ? terms : [literal] }
  }

  private async changed(token: vscode.CancellationToken): Promise<string[]> {
    const params = { pattern: '**', scope: 'changed' as const, max_results: MAX_CHANGED }
    const { files } = await this.server.request(changedFiles, params, token)
    return files.map(({ path }) => path)
  }
}
