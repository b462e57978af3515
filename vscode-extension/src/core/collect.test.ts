import { describe, expect, test } from 'vitest'

import { Appending, Ranking } from './collect'
import type { KeywordSearchResult, RankedBy, RankedFile } from './protocol'
import type { Row } from './rows'

const LOCAL: RankedBy = { kind: 'local' }
const MODEL: RankedBy = { kind: 'llm', model: 'm', provider: 'openai' }

const file = (path: string, reason = `why ${path}`): RankedFile => ({
  path,
  reason,
  terms: [],
  matches: [],
})

const result = (files: RankedFile[], ranked_by: RankedBy): KeywordSearchResult => ({
  root: '/root',
  files,
  ranked_by,
  no_relevant_files: !files.length,
  terms: [],
  search_id: 'id',
  total_found: files.length,
  returned: files.length,
  truncated: false,
  completeness: { complete: true, reasons: [], skipped: {}, timed_out: false },
  warnings: [],
})

const seen = (ranking: Ranking) => {
  const { rows, others } = ranking.shown()
  return { paths: rows.map((row) => row.path), others }
}

describe('a keyword search', () => {
  test('shows the latest local order, and all of it counts as chosen', () => {
    const ranking = new Ranking('/root')
    ranking.partial({ files: [file('a'), file('b')], ranked_by: LOCAL })
    ranking.partial({ files: [file('b'), file('a'), file('c')], ranked_by: LOCAL })
    expect(seen(ranking)).toEqual({ paths: ['b', 'a', 'c'], others: 3 })
  })

  test('puts what the model names first, file by file, and keeps the others below', () => {
    const ranking = new Ranking('/root')
    ranking.partial({ files: [file('a'), file('b'), file('c')], ranked_by: LOCAL })
    ranking.partial({ files: [file('c', 'it does it')], ranked_by: MODEL })
    expect(seen(ranking)).toEqual({ paths: ['c', 'a', 'b'], others: 1 })
    expect(ranking.shown().rows[0]?.detail).toBe('it does it')
    ranking.result(result([file('c', 'it does it'), file('b')], MODEL))
    expect(seen(ranking)).toEqual({ paths: ['c', 'b', 'a'], others: 2 })
  })

  test('forgets the choice of a model that another has taken over from', () => {
    const ranking = new Ranking('/root')
    ranking.partial({ files: [file('a'), file('b')], ranked_by: LOCAL })
    ranking.partial({ files: [file('b')], ranked_by: MODEL })
    ranking.partial({ files: [file('a')], ranked_by: { ...MODEL, model: 'other' } })
    expect(seen(ranking)).toEqual({ paths: ['a', 'b'], others: 1 })
  })

  test('is in the local order again if every model has failed', () => {
    const ranking = new Ranking('/root')
    ranking.partial({ files: [file('b')], ranked_by: MODEL })
    ranking.result(result([file('a'), file('b')], { ...LOCAL, fallback_reason: 'no' }))
    expect(seen(ranking)).toEqual({ paths: ['a', 'b'], others: 2 })
  })

  test('shows below what was not chosen and not streamed', () => {
    const ranking = new Ranking('/root')
    ranking.partial({ files: [file('a')], ranked_by: LOCAL })
    const not_chosen = [{ path: 'a', line: 3 }, { path: 'c', line: 7 }]
    ranking.result({ ...result([file('b')], MODEL), not_chosen })
    expect(seen(ranking)).toEqual({ paths: ['b', 'a', 'c'], others: 1 })
    expect(ranking.shown().rows.map((row) => [row.label, row.detail])).toEqual([
      ['b', 'why b'],
      ['a', 'why a'],
      ['c:7', ''],
    ])
  })

  test('shows everything below if the model has chosen nothing', () => {
    const ranking = new Ranking('/root')
    ranking.partial({ files: [file('a')], ranked_by: LOCAL })
    ranking.result(result([], MODEL))
    expect(seen(ranking)).toEqual({ paths: ['a'], others: 0 })
  })
})

test('what was streamed is not there again with the result', () => {
  const row = (key: string) => ({ key }) as Row
  const all = new Appending<{ keys: string[] }, KeywordSearchResult & { keys: string[] }>(
    '/root',
    (value) => value.keys.map(row),
  )
  all.partial({ keys: ['a', 'b'] })
  all.partial({ keys: ['b', 'c'] })
  all.result({ ...result([], LOCAL), keys: ['c', 'd'] })
  expect(all.shown().rows.map((one) => one.key)).toEqual(['a', 'b', 'c', 'd'])
})
