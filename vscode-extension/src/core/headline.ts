/** Summarize an answer for a title: the ranker, omissions and the cost. */

import type {
  CodeSearchResult,
  FallbackAnswer,
  FindSymbolResult,
  GrepResult,
  KeywordSearchResult,
  RankedBy,
  SearchAnswer,
  SearchDocsResult,
  SemanticSearchResult,
  TermReport,
  Usage,
} from './protocol'

/** A summary of an answer: `parts` for the title and `details` for the log. */
export interface Headline {
  readonly parts: readonly string[]
  readonly details: readonly string[]
  /** Destinations of models that could rank if the user consented. */
  readonly needsConsent?: readonly string[]
}

const INCOMPLETE = 'incomplete: '
const MAX_CHARACTERS = 48

export function ofKeywordSearch(result: KeywordSearchResult): Headline {
  const terms = unusedTerms(result.terms.filter((term) => term.status !== 'used'))
  const { needs_consent: needsConsent } = result.ranked_by
  return {
    ...(needsConsent?.length ? { needsConsent } : {}),
    parts: [
      rankedBy(result.ranked_by),
      resultCount(result, 'file'),
      ...terms,
      // The reason is most likely a term, which is already in the title.
      ...omissions(result).filter((part) => !terms.length || !part.startsWith(INCOMPLETE)),
      ...(result.usage ? [cost(result.usage)] : []),
    ],
    details: [
      `Ranked by ${result.ranked_by.kind === 'llm' ? result.ranked_by.model : 'the local ranker'}`,
      ...(result.ranked_by.fallback_reason ? [`Why: ${result.ranked_by.fallback_reason}`] : []),
      ...result.terms.map(({ term, status, matches, files, detail }) => {
        const counts = matches === undefined ? '' : `, ${matches} lines in ${files} files`
        return `Term ${term}: ${readable(status)}${counts}${detail ? `: ${detail}` : ''}`
      }),
      ...(result.usage
        ? [`Tokens: ${result.usage.input_tokens} input, ${result.usage.output_tokens} output`]
        : []),
      ...Object.entries(result.redactions ?? {}).map(
        ([kind, count]) => `Not sent to the model: ${count} × ${readable(kind)}`,
      ),
      ...detailsOf(result),
    ],
  }
}

export function ofGrep(result: GrepResult): Headline {
  return { parts: [resultCount(result, 'match'), ...omissions(result)], details: detailsOf(result) }
}

export function ofSymbols(result: FindSymbolResult): Headline {
  return { parts: [resultCount(result, 'symbol'), ...omissions(result)], details: detailsOf(result) }
}

export function ofSemantic(result: SemanticSearchResult): Headline {
  const engine = result.engine === 'text' ? 'by text' : `by the index (${result.engine})`
  return {
    parts: [engine, resultCount(result, 'passage'), ...fallbackParts(result), ...omissions(result)],
    details: [...fallbackDetails(result), ...detailsOf(result)],
  }
}

export function ofCode(result: CodeSearchResult): Headline {
  return {
    parts: [
      `as ${result.search_type_used}`,
      resultCount(result, 'result'),
      ...fallbackParts(result),
      ...omissions(result),
    ],
    details: [result.reason, ...fallbackDetails(result), ...detailsOf(result)],
  }
}

export function ofDocuments(result: SearchDocsResult): Headline {
  const failed = result.failed.length
  return {
    parts: [
      resultCount(result, 'line'),
      `${plural(result.statistics.files, 'document')} searched`,
      ...(failed ? [`${failed} could not be read`] : []),
      ...(result.pending ? [`${result.pending} not read yet`] : []),
      ...omissions(result).filter((part) => !failed || !part.startsWith(INCOMPLETE)),
    ],
    details: [
      ...result.failed.map(({ path, member, reason }) => `${path}${member ? `!/${member}` : ''}: ${reason}`),
      ...detailsOf(result),
    ],
  }
}

function rankedBy(by: RankedBy): string {
  if (by.kind === 'llm') return `ranked by ${by.model}`
  if (by.needs_consent?.length) return 'ranked locally: model needs consent'
  return by.fallback_reason ? `ranked locally: ${shortened(by.fallback_reason)}` : 'ranked locally'
}

function resultCount(result: SearchAnswer & { total_is_lower_bound?: boolean }, noun: string): string {
  const { returned, total_found: total } = result
  const more = result.total_is_lower_bound ? 'at least ' : ''
  return returned < total || more
    ? `${returned} of ${more}${plural(total, noun)}`
    : plural(total, noun)
}

function unusedTerms(terms: readonly TermReport[]): string[] {
  const counts = new Map<string, number>()
  for (const { status } of terms) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => `${plural(count, 'term')} ${readable(status)}`)
}

/** Return short descriptions of what the search did not cover. */
function omissions({ completeness, warnings }: SearchAnswer): string[] {
  const parts = completeness.timed_out ? ['timed out'] : []
  if (completeness.index?.state === 'building') {
    const { files_indexed: done, files_total: all } = completeness.index
    const progress = `${done.toLocaleString('en')} of ${all.toLocaleString('en')} files`
    parts.push(done < all ? `index is at ${progress}` : 'index is being built')
  }
  if (!completeness.complete && parts.length === 0 && completeness.reasons.length > 0) {
    parts.push(`${INCOMPLETE}${shortened(completeness.reasons[0] ?? '')}`)
  }
  const skipped = Object.values(completeness.skipped).reduce((sum, count) => sum + count, 0)
  if (skipped) parts.push(`${skipped.toLocaleString('en')} skipped`)
  if (warnings.length && parts.length === 0) parts.push(shortened(warnings[0] ?? ''))
  return parts
}

function detailsOf({ completeness, warnings }: SearchAnswer): string[] {
  const skipped = Object.entries(completeness.skipped)
  return [
    ...completeness.reasons.map((reason) => `Incomplete: ${reason}`),
    ...warnings.map((warning) => `Note: ${warning}`),
    ...skipped.map(([why, count]) => `Skipped, ${readable(why)}: ${count.toLocaleString('en')}`),
  ]
}

function fallbackParts(result: FallbackAnswer): string[] {
  return result.fallback ? [`not ${result.fallback.from}: ${shortened(result.fallback.reason)}`] : []
}

function fallbackDetails(result: FallbackAnswer): string[] {
  return [
    ...(result.fallback
      ? [`Fell back from ${result.fallback.from} to ${result.fallback.to}: ${result.fallback.reason}`]
      : []),
    ...(result.index_offer ? [result.index_offer.text] : []),
    ...(result.suggestions?.length ? [`Try these words: ${result.suggestions.join(', ')}`] : []),
  ]
}

function cost(usage: Usage): string {
  return usage.cost_usd === undefined
    ? `${(usage.input_tokens + usage.output_tokens).toLocaleString('en')} tokens`
    : `$${usage.cost_usd.toFixed(usage.cost_usd < 0.01 ? 5 : 2)}`
}

function plural(count: number, noun: string): string {
  const ending = count === 1 ? '' : /(ch|s)$/.test(noun) ? 'es' : 's'
  return `${count.toLocaleString('en')} ${noun}${ending}`
}

function readable(name: string): string {
  return name.replaceAll('_', ' ')
}

function shortened(text: string): string {
  return text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text
}
