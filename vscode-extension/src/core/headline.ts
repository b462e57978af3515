/** What a title says of an answer: who ranked, what was left out, what it cost. */

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

/** An answer in words: `parts` for a title, `details` for whoever wants to know all of it. */
export interface Headline {
  readonly parts: readonly string[]
  readonly details: readonly string[]
  /** Where a model could be asked, if somebody consented. */
  readonly needsConsent?: readonly string[]
}

const INCOMPLETE = 'incomplete: '
const MOST_CHARACTERS = 48

export function ofKeywordSearch(result: KeywordSearchResult): Headline {
  const terms = termsNotUsed(result.terms.filter((one) => one.status !== 'used'))
  const { needs_consent: needsConsent } = result.ranked_by
  return {
    ...(needsConsent?.length ? { needsConsent } : {}),
    parts: [
      rankedBy(result.ranked_by),
      counted(result, 'file'),
      ...terms,
      // What is not complete is most likely a term, which has been said.
      ...leftOut(result).filter((part) => !terms.length || !part.startsWith(INCOMPLETE)),
      ...(result.usage ? [cost(result.usage)] : []),
    ],
    details: [
      `Ranked by ${result.ranked_by.kind === 'llm' ? result.ranked_by.model : 'the local ranker'}`,
      ...(result.ranked_by.fallback_reason ? [`Why: ${result.ranked_by.fallback_reason}`] : []),
      ...result.terms.map((one) => {
        const counts = one.matches === undefined ? '' : `, ${one.matches} lines in ${one.files} files`
        const detail = one.detail ? `: ${one.detail}` : ''
        return `Term ${one.term}: ${spoken(one.status)}${counts}${detail}`
      }),
      ...(result.usage
        ? [`Tokens: ${result.usage.input_tokens} sent, ${result.usage.output_tokens} written`]
        : []),
      ...Object.entries(result.redactions ?? {}).map(
        ([kind, count]) => `Not sent to the model: ${count} × ${spoken(kind)}`,
      ),
      ...detailsOf(result),
    ],
  }
}

export function ofGrep(result: GrepResult): Headline {
  return { parts: [counted(result, 'match'), ...leftOut(result)], details: detailsOf(result) }
}

export function ofSymbols(result: FindSymbolResult): Headline {
  return { parts: [counted(result, 'symbol'), ...leftOut(result)], details: detailsOf(result) }
}

export function ofSemantic(result: SemanticSearchResult): Headline {
  const engine = result.engine === 'text' ? 'by text' : `by the index (${result.engine})`
  return {
    parts: [engine, counted(result, 'passage'), ...fellBack(result), ...leftOut(result)],
    details: [...fallbackDetails(result), ...detailsOf(result)],
  }
}

export function ofCode(result: CodeSearchResult): Headline {
  return {
    parts: [
      `as ${result.search_type_used}`,
      counted(result, 'result'),
      ...fellBack(result),
      ...leftOut(result),
    ],
    details: [result.reason, ...fallbackDetails(result), ...detailsOf(result)],
  }
}

export function ofDocuments(result: SearchDocsResult): Headline {
  const failed = result.failed.length
  return {
    parts: [
      counted(result, 'line'),
      `${plural(result.statistics.files, 'document')} searched`,
      ...(failed ? [`${failed} could not be read`] : []),
      ...(result.pending ? [`${result.pending} not read yet`] : []),
      ...leftOut(result).filter((part) => !failed || !part.startsWith(INCOMPLETE)),
    ],
    details: [
      ...result.failed.map((one) => `${one.path}${one.member ? `!/${one.member}` : ''}: ${one.reason}`),
      ...detailsOf(result),
    ],
  }
}

function rankedBy(by: RankedBy): string {
  if (by.kind === 'llm') return `ranked by ${by.model}`
  if (by.needs_consent?.length) return 'ranked locally: model needs consent'
  return by.fallback_reason ? `ranked locally: ${shortened(by.fallback_reason)}` : 'ranked locally'
}

function counted(result: SearchAnswer & { total_is_lower_bound?: boolean }, what: string): string {
  const { returned, total_found: total } = result
  const more = result.total_is_lower_bound ? 'at least ' : ''
  return returned < total || more
    ? `${returned} of ${more}${plural(total, what)}`
    : plural(total, what)
}

function termsNotUsed(terms: readonly TermReport[]): string[] {
  const counts = new Map<string, number>()
  for (const { status } of terms) counts.set(status, (counts.get(status) ?? 0) + 1)
  return [...counts].map(([status, count]) => `${plural(count, 'term')} ${spoken(status)}`)
}

/** What was not looked at, in a few words. */
function leftOut({ completeness, warnings }: SearchAnswer): string[] {
  const parts = completeness.timed_out ? ['timed out'] : []
  if (completeness.index?.state === 'building') {
    const { files_indexed: done, files_total: all } = completeness.index
    const known = `${done.toLocaleString('en')} of ${all.toLocaleString('en')} files`
    parts.push(done < all ? `index is at ${known}` : 'index is being built')
  }
  const others = completeness.reasons.length - parts.length
  if (!completeness.complete && parts.length === 0 && others > 0) {
    parts.push(`${INCOMPLETE}${shortened(completeness.reasons[0] ?? '')}`)
  }
  const skipped = Object.values(completeness.skipped).reduce((sum, one) => sum + one, 0)
  if (skipped) parts.push(`${skipped.toLocaleString('en')} skipped`)
  if (warnings.length && parts.length === 0) parts.push(shortened(warnings[0] ?? ''))
  return parts
}

function detailsOf({ completeness, warnings }: SearchAnswer): string[] {
  const skipped = Object.entries(completeness.skipped)
  return [
    ...completeness.reasons.map((reason) => `Incomplete: ${reason}`),
    ...warnings.map((warning) => `Note: ${warning}`),
    ...skipped.map(([why, count]) => `Skipped, ${spoken(why)}: ${count.toLocaleString('en')}`),
  ]
}

function fellBack(result: FallbackAnswer): string[] {
  return result.fallback ? [`not ${result.fallback.from}: ${shortened(result.fallback.reason)}`] : []
}

function fallbackDetails(result: FallbackAnswer): string[] {
  return [
    ...(result.fallback
      ? [`${result.fallback.from} was wanted, ${result.fallback.to} made: ${result.fallback.reason}`]
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

function plural(count: number, what: string): string {
  const ending = count === 1 ? '' : /(ch|s)$/.test(what) ? 'es' : 's'
  return `${count.toLocaleString('en')} ${what}${ending}`
}

function spoken(name: string): string {
  return name.replaceAll('_', ' ')
}

function shortened(text: string): string {
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text
}
