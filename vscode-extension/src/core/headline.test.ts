import { describe, expect, test } from 'vitest'

import { ofCode, ofDocuments, ofGrep, ofKeywordSearch } from './headline'
import type { CodeSearchResult, GrepResult, KeywordSearchResult, SearchDocsResult } from './protocol'

const ANSWER = {
  root: '/r',
  search_id: 'id',
  total_found: 96,
  returned: 20,
  truncated: true,
  completeness: { complete: true, reasons: [], skipped: {}, timed_out: false },
  warnings: [],
}

const KEYWORD: KeywordSearchResult = {
  ...ANSWER,
  files: [],
  no_relevant_files: false,
  ranked_by: { kind: 'llm', model: 'small', provider: 'openai' },
  terms: [
    { term: 'a', status: 'used', matches: 3, files: 2 },
    { term: 'b', status: 'too_broad' },
    { term: 'c', status: 'too_broad' },
    { term: 'd', status: 'no_match' },
  ],
}

describe('the headline of a keyword search shows', () => {
  test('the model, unused terms and the cost', () => {
    const usage = { input_tokens: 1000, output_tokens: 50, cost_usd: 0.00125 }
    expect(ofKeywordSearch({ ...KEYWORD, usage }).parts).toEqual([
      'ranked by small',
      '20 of 96 files',
      '2 terms too broad',
      '1 term no match',
      '$0.00125',
    ])
  })

  test('tokens if the price is unknown', () => {
    const usage = { input_tokens: 1000, output_tokens: 50 }
    expect(ofKeywordSearch({ ...KEYWORD, usage }).parts.at(-1)).toBe('1,050 tokens')
  })

  test('the destinations of a model that needs consent', () => {
    const ranked_by = {
      kind: 'local' as const,
      fallback_reason: 'a long sentence',
      needs_consent: ['https://a.example'],
    }
    const { parts, needsConsent } = ofKeywordSearch({ ...KEYWORD, ranked_by })
    expect(parts[0]).toBe('ranked locally: model needs consent')
    expect(needsConsent).toEqual(['https://a.example'])
    expect(ofKeywordSearch(KEYWORD).needsConsent).toBeUndefined()
  })

  test('the reason why no model ranked', () => {
    const ranked_by = { kind: 'local' as const, fallback_reason: 'no key' }
    const { parts, details } = ofKeywordSearch({ ...KEYWORD, ranked_by })
    expect(parts[0]).toBe('ranked locally: no key')
    expect(details).toContain('Why: no key')
    expect(details).toContain('Term b: too broad')
  })
})

test('timeouts and skipped files are always shown', () => {
  const result: GrepResult = {
    ...ANSWER,
    matches: [],
    total_is_lower_bound: true,
    completeness: { complete: false, reasons: ['time ran out'], skipped: { binary: 3 }, timed_out: true },
    warnings: ['3 in ignored files'],
  }
  expect(ofGrep(result).parts).toEqual(['20 of at least 96 matches', 'timed out', '3 skipped'])
  expect(ofGrep(result).details).toEqual([
    'Incomplete: time ran out',
    'Note: 3 in ignored files',
    'Skipped, binary: 3',
  ])
})

test('an incomplete index shows its progress', () => {
  const index = { state: 'building' as const, files_indexed: 1200, files_total: 3000 }
  const completeness = { ...ANSWER.completeness, complete: false, reasons: ['building'], index }
  const result: CodeSearchResult = {
    ...ANSWER,
    completeness,
    results: [],
    search_type_used: 'text',
    reason: 'because',
    fallback: { from: 'semantic', to: 'text', reason: 'no index' },
  }
  expect(ofCode(result).parts).toEqual([
    'as text',
    '20 of 96 results',
    'not semantic: no index',
    'index is at 1,200 of 3,000 files',
  ])
})

test('unreadable documents are counted and listed with the reason', () => {
  const result: SearchDocsResult = {
    ...ANSWER,
    total_found: 1,
    returned: 1,
    documents: [],
    failed: [{ path: 'a.zip', member: 'b.pdf', reason: 'encrypted' }],
    engine: 'builtin',
    statistics: { files: 2, matches: 1, seconds: 0.1 },
    pending: 4,
    completeness: { ...ANSWER.completeness, complete: false, reasons: ['1 document not read'] },
  }
  const { parts, details } = ofDocuments(result)
  expect(parts).toEqual(['1 line', '2 documents searched', '1 could not be read', '4 not read yet'])
  expect(details[0]).toBe('a.zip!/b.pdf: encrypted')
})
