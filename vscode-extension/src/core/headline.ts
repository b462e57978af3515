/** Summarize an answer: who ordered it, for the title, and everything else for the info button. */

import { percentOf } from './index-state'
import { formatNumber, plural } from './numbers'
import type {
  CodeSearchResult,
  FallbackAnswer,
  FindSymbolResult,
  GrepResult,
  KeywordSearchResult,
  RankedBy,
  SearchAnswer,
  SearchDocsResult,
  SearchType,
  TermReport,
  Usage,
} from './protocol'
import { MAX_LINE } from './rows'
import { forPeople } from './wording'

export interface Headline {
  /** The model that ranked, or `local`. */
  readonly by: string
  /** The number of results, such as `50 of 361 results`. */
  readonly count: string
  /** What the user must know to read the list, such as a time limit; empty if nothing. */
  readonly note: string
  /** True while the index is being built: the same search finds more later. */
  readonly isEarly: boolean
  /** Everything else, one sentence each. */
  readonly details: readonly string[]
  /** Other words to search for, each by itself. */
  readonly suggestions?: readonly string[]
}

/** What each search looks at. */
const BY: Record<SearchType, string> = {
  file: 'by file name',
  symbol: 'by name',
  text: 'for this text',
  semantic: 'by meaning',
}

/** The author of an order that no model chose. */
export const LOCAL = 'local'

/** Return the title of the box: one short line. */
export function titleOf(words: string, headline: Headline | undefined): string {
  if (!headline) return shortened(words) || 'Winnow'
  return [shortened(words), headline.by, headline.note].filter(Boolean).join(' · ')
}

/** Return the headline of a search that had nothing to search. */
export function withoutResults(reason: string): Headline {
  const count = plural(0, 'result')
  return { by: LOCAL, count, note: '', isEarly: false, details: [`${count}.`, reason] }
}

export function ofCode(result: CodeSearchResult): Headline {
  const unknown = unknownWords(result)
  const summary = headline(result, 'result', result.ranked_by, [
    ...(unknown ? [`${capitalized(unknown)}.`] : []),
    searchDetail(result),
    ...rankingDetails(result),
    ...offers(result),
  ])
  return { ...summary, note: summary.note || unknown, suggestions: result.suggestions ?? [] }
}

export function ofKeywordSearch(result: KeywordSearchResult): Headline {
  return headline(result, 'file', result.ranked_by, [
    ...result.terms.map(termDetail),
    ...rankingDetails(result),
  ])
}

export function ofGrep(result: GrepResult): Headline {
  return headline(result, 'match')
}

export function ofSymbols(result: FindSymbolResult): Headline {
  return headline(result, 'symbol')
}

export function ofDocuments(result: SearchDocsResult): Headline {
  const summary = headline(result, 'line', undefined, [
    `${plural(result.statistics.files, 'document')} searched.`,
    ...result.failed.map(
      ({ path, member, reason }) => `Not read: ${path}${member ? `!/${member}` : ''}: ${reason}`,
    ),
  ])
  const pending = result.pending ? `${plural(result.pending, 'document')} still being read` : ''
  return { ...summary, note: summary.note || pending }
}

/** Return a sentence as the one or two lines of a row, which are cut at its end. */
export function linesOf(text: string): { label: string; detail?: string } {
  if (text.length <= MAX_LINE) return { label: text }
  const space = text.lastIndexOf(' ', MAX_LINE)
  const end = space > 0 ? space : MAX_LINE
  return { label: text.slice(0, end), detail: text.slice(end).trim() }
}

function headline(
  result: SearchAnswer & { total_is_lower_bound?: boolean },
  noun: string,
  rankedBy: RankedBy = { kind: 'local' },
  details: readonly string[] = [],
): Headline {
  const count = resultCount(result, noun)
  const state = result.completeness.index?.state
  return {
    by: rankedBy.kind === 'llm' ? (rankedBy.model ?? 'a language model') : LOCAL,
    count,
    note: noteOf(result),
    isEarly: state === 'opening' || state === 'building',
    details: [`${capitalized(count)}.`, ...details, ...omissions(result)].map(forPeople),
  }
}

/** Return the one thing that changes how to read the list. */
function noteOf({ completeness: { timed_out: isTimedOut, index } }: SearchAnswer): string {
  if (isTimedOut) return 'stopped early'
  if (index?.state === 'none') return 'no index'
  if (index?.state !== 'building' || !index.files_total) return ''
  return `index ${index.waits_for ? 'waits ' : ''}at ${percentOf([index])} %`
}

function resultCount(
  result: SearchAnswer & { total_is_lower_bound?: boolean },
  noun: string,
): string {
  const { returned, total_found: total } = result
  const more = result.total_is_lower_bound ? 'at least ' : ''
  return returned < total || more
    ? `${formatNumber(returned)} of ${more}${plural(total, noun)}`
    : plural(total, noun)
}

function omissions({ completeness, warnings, fallback }: SearchAnswer & FallbackAnswer): string[] {
  // The reason for another search is part of the sentence about it.
  const reasons = fallback?.partly ? completeness.reasons : completeness.reasons.filter((reason) => reason !== fallback?.reason)
  return [
    ...reasons.map((reason) => `Incomplete: ${reason}.`),
    ...warnings.map((warning) => `Note: ${warning}.`),
    ...skippedFiles(completeness.skipped),
  ]
}

function skippedFiles(skipped: Record<string, number>): string[] {
  const counts = Object.entries(skipped).filter(([, count]) => count > 0)
  const reasons = counts.map(([why, count]) => `${formatNumber(count)} ${readable(why)}`)
  return reasons.length ? [`Files not searched: ${reasons.join(', ')}.`] : []
}

function termDetail({ term, status, matches, files, detail }: TermReport): string {
  const counts = matches === undefined ? '' : `, ${matches} lines in ${files} files`
  return `Term ${term}: ${readable(status)}${counts}${detail ? `: ${detail}` : ''}.`
}

function rankingDetails({
  ranked_by: by,
  usage,
  redactions = {},
}: {
  ranked_by: RankedBy
  usage?: Usage
  redactions?: Record<string, number>
}): string[] {
  return [
    by.kind === 'llm' ? `Ranked by ${by.model}${usage ? `, for ${cost(usage)}` : ''}.` : 'Ranked on this machine.',
    ...(by.fallback_reason ? [`Not ranked by a language model: ${by.fallback_reason}.`] : []),
    ...Object.entries(redactions).map(
      ([kind, count]) => `Not sent to the model: ${count} × ${readable(kind)}.`,
    ),
  ]
}

/** Return which search was used, and why. */
function searchDetail({ search_type_used: used, reason, fallback }: CodeSearchResult): string {
  // The server repeats the query.
  const why = reason.replace(/^(['"]).*?\1: /s, '')
  if (!fallback || fallback.partly) return `Searched ${BY[used]}, because ${why}.`
  const how = fallback.from === 'semantic' ? 'for the words of the query' : BY[used]
  return `Searched ${how}, not ${BY[fallback.from]}: ${fallback.reason}.`
}

/** Return which words of the question the code does not have; empty if it has nearly all. */
function unknownWords({ unknown_words: words = [] }: FallbackAnswer): string {
  return words.length ? `no text file contains ${words.map((word) => `“${word}”`).join(' or ')}` : ''
}

function tryWords(words: readonly string[]): string {
  return `Try these words: ${words.join(', ')}.`
}

/** Return why there are no results, without the words to try, which have rows of their own. */
export function whyNone({ details, suggestions = [] }: Headline): readonly string[] {
  return details.slice(1).filter((detail) => detail !== tryWords(suggestions))
}

function offers(result: FallbackAnswer): string[] {
  const { index_offer: offer, suggestions } = result
  return [
    ...(offer ? [offer.text] : []),
    ...(suggestions?.length ? [tryWords(suggestions)] : []),
  ]
}

function cost(usage: Usage): string {
  return usage.cost_usd === undefined
    ? `${formatNumber(usage.input_tokens + usage.output_tokens)} tokens`
    : `$${usage.cost_usd.toFixed(usage.cost_usd < 0.01 ? 5 : 2)}`
}

function readable(name: string): string {
  return name.replaceAll('_', ' ')
}

function capitalized(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** The box shows the whole query, so the title needs only its start. */
const MAX_CHARACTERS = 36

function shortened(text: string): string {
  const line = text.replace(/\s+/g, ' ')
  return line.length > MAX_CHARACTERS ? `${line.slice(0, MAX_CHARACTERS)}…` : line
}
