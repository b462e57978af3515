import { describe, expect, test } from 'vitest'

import { linesOf, ofCode, ofDocuments, ofGrep, ofKeywordSearch, titleOf, whyNone, withoutResults } from './headline'
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

const CODE: CodeSearchResult = {
  ...ANSWER,
  results: [],
  search_type_used: 'semantic',
  reason: "'how is it': it is a question",
  ranked_by: { kind: 'local' },
}

const KEYWORD: KeywordSearchResult = {
  ...ANSWER,
  files: [],
  no_relevant_files: false,
  ranked_by: { kind: 'llm', model: 'small', provider: 'openai' },
  terms: [
    { term: 'a', status: 'used', matches: 3, files: 2 },
    { term: 'b', status: 'too_broad' },
  ],
}

describe('the title', () => {
  test('is the query and who ranked', () => {
    expect(titleOf('how is it', ofCode(CODE))).toBe('how is it · local')
    expect(titleOf('how is it', ofKeywordSearch(KEYWORD))).toBe('how is it · small')
    expect(titleOf('how is it', undefined)).toBe('how is it')
  })

  test('is one short line, also for a long query', () => {
    const query = `Traceback:\n${'x'.repeat(200)}`
    expect(titleOf(query, ofCode(CODE))).toMatch(/^Traceback: x{25}… · local$/)
    expect(titleOf(query, undefined)).toMatch(/^Traceback: x{25}…$/)
  })

  test('adds only what changes how to read the list', () => {
    const completeness = { ...ANSWER.completeness, complete: false, timed_out: true, skipped: { ignored: 0, binary: 3, too_large: 1 } }
    expect(titleOf('q', ofCode({ ...CODE, completeness, warnings: ['3 in ignored files'] }))).toBe('q · local · stopped early')
    const index = { state: 'building' as const, files_indexed: 1200, files_total: 3000, texts_indexed: 1800 }
    const building = { ...ANSWER.completeness, index }
    expect(titleOf('q', ofCode({ ...CODE, completeness: building }))).toBe('q · local · index at 50 %')
    const waiting = { ...building, index: { ...index, waits_for: 'other programs use 97 % of the processors' } }
    expect(titleOf('q', ofCode({ ...CODE, completeness: waiting }))).toBe('q · local · index waits at 50 %')
    const none = { ...building, index: { ...index, state: 'none' as const } }
    expect(titleOf('q', ofCode({ ...CODE, completeness: none }))).toBe('q · local · no index')
  })

  test('says which words no text has', () => {
    const unknown_words = ['backpressure', 'retryPolicy']
    const headline = ofCode({ ...CODE, unknown_words })
    expect(titleOf('q', headline)).toBe('q · local · no text file contains “backpressure” or “retryPolicy”')
    expect(headline.details[1]).toBe('No text file contains “backpressure” or “retryPolicy”.')
    const completeness = { ...ANSWER.completeness, complete: false, timed_out: true }
    expect(titleOf('q', ofCode({ ...CODE, unknown_words, completeness }))).toBe('q · local · stopped early')
  })

  test('does not mention keys', () => {
    const ranked_by = { kind: 'local' as const, fallback_reason: 'no language model has a key' }
    const headline = ofCode({ ...CODE, ranked_by })
    expect(titleOf('q', headline)).toBe('q · local')
    expect(headline.details).toContain('Not ranked by a language model: no language model has a key.')
  })
})

describe('the details', () => {
  test('have the count, the terms, the model and its cost', () => {
    const usage = { input_tokens: 1000, output_tokens: 50, cost_usd: 0.00125 }
    expect(ofKeywordSearch({ ...KEYWORD, usage }).details).toEqual([
      '20 of 96 files.',
      'Term a: used, 3 lines in 2 files.',
      'Term b: too broad.',
      'Ranked by small, for $0.00125.',
    ])
    const { cost_usd, ...tokens } = usage
    expect(ofKeywordSearch({ ...KEYWORD, usage: tokens }).details.at(-1)).toBe('Ranked by small, for 1,050 tokens.')
  })

  test('have the kind of search, the fallback and what was left out', () => {
    const result: CodeSearchResult = {
      ...CODE,
      completeness: { ...ANSWER.completeness, reasons: ['no index', 'time ran out'], skipped: { ignored: 0, binary: 3, too_large: 1 } },
      warnings: ['3 in ignored files', 'ignored and hidden files are not searched here: use `grep`'],
      fallback: { from: 'semantic', to: 'text', reason: 'no index' },
    }
    expect(ofCode(result).details).toEqual([
      '20 of 96 results.',
      'Searched for the words of the query, not by meaning: no index.',
      'Ranked on this machine.',
      'Incomplete: time ran out.',
      'Note: 3 in ignored files.',
      'Note: ignored and hidden files were not searched; >ignored "text searches them, too.',
      'Files not searched: 3 binary, 1 too large.',
    ])
  })

  test('are complete in two lines', () => {
    const long = `the index is being built: ${'word '.repeat(20)}end`
    const { label, detail } = linesOf(long)
    expect(label.length).toBeLessThanOrEqual(84)
    expect(`${label} ${detail}`).toBe(long)
    expect(linesOf('short')).toEqual({ label: 'short' })
  })

  test('say once that the index is not complete', () => {
    const reason = 'the index is being built'
    const completeness = { ...ANSWER.completeness, reasons: [reason] }
    const result: CodeSearchResult = {
      ...CODE,
      completeness,
      fallback: { from: 'semantic', to: 'text', reason, partly: true },
    }
    const { details } = ofCode(result)
    expect(details).toContain('Searched by meaning, because it is a question.')
    expect(details.filter((detail) => detail.includes(reason))).toEqual([`Incomplete: ${reason}.`])
  })

  test('count at least as many results as were found', () => {
    const result: GrepResult = { ...ANSWER, matches: [], total_is_lower_bound: true }
    expect(ofGrep(result).count).toBe('20 of at least 96 matches')
  })

  test('name other words to try, which can also be had one by one', () => {
    const headline = ofCode({ ...CODE, suggestions: ['session', 'cookie'] })
    expect(headline.details.at(-1)).toBe('Try these words: session, cookie.')
    expect(headline.suggestions).toEqual(['session', 'cookie'])
    expect(whyNone(headline)).toEqual([
      'Searched by meaning, because it is a question.',
      'Ranked on this machine.',
    ])
  })

  test('say why there was nothing to search', () => {
    const headline = withoutResults('No file differs from the last commit.')
    expect(headline.details).toEqual(['0 results.', 'No file differs from the last commit.'])
    expect(titleOf('q', headline)).toBe('q · local')
  })

  test('list unreadable documents with the reason', () => {
    const result: SearchDocsResult = {
      ...ANSWER,
      total_found: 1,
      returned: 1,
      documents: [],
      failed: [{ path: 'a.zip', member: 'b.pdf', reason: 'encrypted' }],
      engine: 'builtin',
      statistics: { files: 2, matches: 1, seconds: 0.1 },
      pending: 4,
    }
    const { count, note, details } = ofDocuments(result)
    expect([count, note]).toEqual(['1 line', '4 documents still being read'])
    expect(details).toEqual(['1 line.', '2 documents searched.', 'Not read: a.zip!/b.pdf: encrypted'])
  })
})
